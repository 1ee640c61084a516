// The pages of the documentation by path and language, and where the links in them lead.
import { groups, type HelpPage, type HelpText } from 'virtual:documentation';
import type { Language } from '../../i18n';

export { groups };

const pages = new Map(groups.flatMap((group) => group.pages).map((page) => [page.path, page]));

export const helpPage = (path: string): HelpPage | undefined => pages.get(path);

// In the reader's language, else in English.
export function textIn(page: HelpPage, language: Language): HelpText & { language: Language } {
    const text = page.texts[language];
    return text ? { ...text, language } : { ...page.texts.en, language: 'en' };
}

export type Target =
    | { kind: 'page'; to: string } // Within the console.
    | { kind: 'elsewhere'; href: string }
    | { kind: 'source' }; // A file of the project that is no page of the console.

const origin = 'http://docs.invalid';

// Where a link leads that stands in the page `path`.
export function targetOf(href: string, path: string, language: Language): Target {
    const base = `${origin}/docs/${language === 'zh' ? 'zh/' : ''}${path}.md`;
    let url: URL;
    try {
        url = new URL(href, base);
    } catch {
        return { kind: 'source' };
    }
    if (url.origin !== origin) {
        return /^https?:$/.test(url.protocol) ? { kind: 'elsewhere', href: url.href } : { kind: 'source' };
    }
    const found = /^\/docs\/(?:zh\/)?(.+)\.md$/.exec(url.pathname)?.[1];
    return found && pages.has(found) ? { kind: 'page', to: `/help/${found}${url.hash}` } : { kind: 'source' };
}
