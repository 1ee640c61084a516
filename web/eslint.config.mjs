// Rules that find mistakes; how lines look is prettier's. Without type information: it runs in seconds.
import js from '@eslint/js';
import hooks from 'eslint-plugin-react-hooks';
import typescript from 'typescript-eslint';

// What programs for Node, and what they run inside a page, find without an import.
const globals = Object.fromEntries(
    (
        'AbortController AbortSignal Buffer HTMLElement MouseEvent URL clearInterval clearTimeout console document ' +
        'fetch getComputedStyle localStorage location navigator performance process requestAnimationFrame ' +
        'sessionStorage setInterval setTimeout window'
    )
        .split(' ')
        .map((name) => [name, 'readonly']),
);

export default typescript.config(
    { ignores: ['dist', 'node_modules', 'public'] },
    js.configs.recommended,
    ...typescript.configs.recommended,
    {
        files: ['**/*.{ts,tsx}'],
        plugins: { 'react-hooks': hooks },
        rules: {
            'react-hooks/rules-of-hooks': 'error',
            'react-hooks/exhaustive-deps': 'error',
            eqeqeq: ['error', 'always', { null: 'ignore' }],
            'no-console': 'error',
            '@typescript-eslint/no-unused-vars': ['error', { ignoreRestSiblings: true }],
        },
    },
    { files: ['**/*.mjs'], languageOptions: { globals } },
);
