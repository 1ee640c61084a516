// The texts of the console in each language. English is the list of keys; a text that is missing in
// another language does not compile.
import { useCallback } from 'react';
import { usePreferences } from '../hooks/usePreferences';
import { en } from './en';

export type Language = 'en' | 'zh';
export type TextKey = keyof typeof en;
export type Texts = Record<TextKey, string>;
export type Translate = (key: TextKey, values?: Record<string, string | number>) => string;

// An American and a Briton write the same date in two ways; the browser knows whose it is.
const englishLocale = navigator.languages.find((each) => /^en-/.test(each)) ?? 'en-GB';

// Each reader needs one language: the others come when somebody asks for them.
const texts: Partial<Record<Language, Texts>> = { en };

export async function loadLanguage(language: Language): Promise<void> {
    if (!texts[language]) texts.zh = (await import('./zh')).zh;
}

// Whether there is a text for what the server named.
export const isTextKey = (key: string | undefined): key is TextKey =>
    key !== undefined && Object.prototype.hasOwnProperty.call(en, key);

export function translate(
    language: Language,
    key: TextKey,
    values: Record<string, string | number> = {},
): string {
    // "{count} run¦{count} runs": of one, and of any other number.
    const [one = '', many = one] = (texts[language] ?? en)[key].split('¦');
    return (values.count === 1 ? one : many).replace(/\{(\w+)\}/g, (whole, name: string) =>
        String(values[name] ?? whole),
    );
}

export function useI18n(): { t: Translate; language: Language; locale: string } {
    const { language } = usePreferences();
    const t = useCallback<Translate>((key, values) => translate(language, key, values), [language]);
    return { t, language, locale: language === 'zh' ? 'zh-CN' : englishLocale };
}
