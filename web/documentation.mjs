// The pages of docs/ as the module `virtual:documentation`: their order, their titles, and what loads the text of each.
// What is of no use to somebody who has a console before them (docs/decisions, pages beside docs/) is left out.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const moduleId = 'virtual:documentation';

const pagesIn = (root, folder) =>
    readdirSync(join(root, folder))
        .filter((name) => name.endsWith('.md'))
        .sort()
        .map((name) => posix.join(folder, name.slice(0, -'.md'.length)));

// Code for the text of one file: { title, load }.
function textOf(file) {
    const title = /^# (.+)$/m.exec(readFileSync(file, 'utf8'));
    if (!title) throw new Error(`${file} has no title: its first line should be "# ..."`);
    const load = `() => import(${JSON.stringify(`${file}?raw`)}).then((text) => text.default)`;
    return `{ title: ${JSON.stringify(title[1].replace(/[`*]/g, ''))}, load: ${load} }`;
}

function pageOf(root, path) {
    const chinese = join(root, 'zh', `${path}.md`);
    const zh = existsSync(chinese) ? `, zh: ${textOf(chinese)}` : '';
    return `{ path: ${JSON.stringify(path)}, texts: { en: ${textOf(join(root, `${path}.md`))}${zh} } }`;
}

function codeOf(root) {
    let left = [...pagesIn(root, '.'), ...pagesIn(root, 'stores')];
    const groups = JSON.parse(readFileSync(join(root, 'site/pages.json'), 'utf8')).map(
        ({ en, zh, pages }) => {
            const members = pages.flatMap((pattern) => {
                const found = left.filter((path) =>
                    pattern.endsWith('/*.md')
                        ? posix.dirname(`docs/${path}`) === posix.dirname(pattern)
                        : `docs/${path}.md` === pattern,
                );
                left = left.filter((path) => !found.includes(path));
                return found;
            });
            const codes = members.map((path) => pageOf(root, path)).join(',\n');
            return `{ title: ${JSON.stringify({ en, zh })}, pages: [${codes}] }`;
        },
    );
    return `export const groups = [${groups.join(',\n')}];\n`;
}

// A plug-in for Vite; `root` is the folder docs/.
export const documentation = (root) => ({
    name: 'documentation',
    resolveId: (id) => (id === moduleId ? `\0${moduleId}` : undefined),
    load: (id) => (id === `\0${moduleId}` ? codeOf(root) : undefined),
});
