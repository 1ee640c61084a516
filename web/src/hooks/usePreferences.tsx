// What a person chose for this browser: language and appearance. Remembered, and offered by the system's
// own settings before anything was chosen.
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from 'react';
import { setPageZone, setUnits } from '../format';
import { type Language, loadLanguage } from '../i18n';

export type Appearance = 'system' | 'light' | 'dark';

// Whose clock times are told by: the reader's, that of the task that a page is about, or UTC.
export type Zone = 'mine' | 'task' | 'utc';

interface Preferences {
    language: Language;
    setLanguage: (language: Language) => void;
    appearance: Appearance;
    setAppearance: (appearance: Appearance) => void;
    dark: boolean;
    zone: Zone;
    setZone: (zone: Zone) => void;
}

const Context = createContext<Preferences | undefined>(undefined);
const languageKey = 'takt.language';
const appearanceKey = 'takt.appearance';
const zoneKey = 'takt.zone';

export function firstLanguage(): Language {
    const kept = localStorage.getItem(languageKey);
    if (kept === 'en' || kept === 'zh') return kept;
    return navigator.language.startsWith('zh') ? 'zh' : 'en';
}

function firstAppearance(): Appearance {
    const kept = localStorage.getItem(appearanceKey);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
}

function firstZone(): Zone {
    const kept = localStorage.getItem(zoneKey);
    return kept === 'task' || kept === 'utc' ? kept : 'mine';
}

export function PreferencesProvider({ children }: { children: ReactNode }) {
    const [language, setLoaded] = useState(firstLanguage);
    // Without a connection the texts cannot be fetched; then it stays as it is until the page comes again.
    const setLanguage = useCallback((next: Language) => {
        localStorage.setItem(languageKey, next);
        loadLanguage(next).then(
            () => {
                setUnits(next);
                setLoaded(next);
            },
            () => undefined,
        );
    }, []);
    const [appearance, setAppearance] = useState(firstAppearance);
    const [zone, setZone] = useState(firstZone);
    // Before anything below is drawn with it.
    setPageZone(zone === 'utc' ? 'UTC' : undefined);
    const [systemDark, setSystemDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches);
    const dark = appearance === 'dark' || (appearance === 'system' && systemDark);

    useEffect(() => {
        const media = matchMedia('(prefers-color-scheme: dark)');
        const changed = () => setSystemDark(media.matches);
        media.addEventListener('change', changed);
        return () => media.removeEventListener('change', changed);
    }, []);
    useEffect(() => {
        localStorage.setItem(languageKey, language);
        document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en';
    }, [language]);
    useEffect(() => {
        if (appearance === 'system') localStorage.removeItem(appearanceKey);
        else localStorage.setItem(appearanceKey, appearance);
    }, [appearance]);
    useEffect(() => {
        if (zone === 'mine') localStorage.removeItem(zoneKey);
        else localStorage.setItem(zoneKey, zone);
    }, [zone]);
    useEffect(() => {
        document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    }, [dark]);

    const value = useMemo(
        () => ({ language, setLanguage, appearance, setAppearance, dark, zone, setZone }),
        [language, setLanguage, appearance, dark, zone],
    );
    return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function usePreferences(): Preferences {
    const value = useContext(Context);
    if (!value) throw new Error('usePreferences outside of PreferencesProvider');
    return value;
}
