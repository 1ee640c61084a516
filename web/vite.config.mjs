import react from '@vitejs/plugin-react';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { documentation } from './documentation.mjs';

// The scheduler that `npm run dev` talks to.
const server = process.env.TAKT_SERVER ?? 'http://127.0.0.1:8080';
const passedOn = ['/api', '/metrics', '/healthz', '/readyz', '/version', '/openapi.json', '/docs'];

// The build works in a copy of this folder, which has no docs/ beside it.
const docs = process.env.TAKT_DOCS ?? fileURLToPath(new URL('../docs', import.meta.url));

export default defineConfig({
    plugins: [react(), documentation(docs)],
    build: {
        outDir: 'dist',
        target: 'es2021',
        // An inlined file would be a data: address, which the server's policy allows to images only.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        // Ant Design and ECharts are large by nature; each is a file of its own.
        chunkSizeWarningLimit: 1200,
        rollupOptions: {
            output: {
                manualChunks: (id) => {
                    if (id.includes('/echarts/') || id.includes('/zrender/')) return 'echarts';
                    if (
                        /\/node_modules\/(react|react-dom|react-router|react-router-dom|@remix-run|scheduler)\//.test(
                            id,
                        )
                    ) {
                        return 'react';
                    }
                    return undefined;
                },
            },
        },
    },
    server: {
        fs: { allow: ['.', docs] },
        proxy: Object.fromEntries(passedOn.map((path) => [path, { target: server, xfwd: false }])),
    },
});
