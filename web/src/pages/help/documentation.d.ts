// Made of docs/ by documentation.mjs when the console is built.
declare module 'virtual:documentation' {
    export interface HelpText {
        title: string;
        load: () => Promise<string>; // Markdown.
    }

    export interface HelpPage {
        path: string; // "cron", "stores/redis".
        texts: { en: HelpText; zh?: HelpText };
    }

    export const groups: { title: { en: string; zh: string }; pages: HelpPage[] }[];
}
