// Who is signed in, and what that allows: buttons that would be refused say so before they are pressed.
import { createContext, type ReactNode, useContext } from 'react';
import { api } from '../api/client';
import type { Me } from '../api/types';
import { useI18n } from '../i18n';
import { useData } from './useData';

export type Need = 'operator' | 'admin';

const Context = createContext<Me | undefined>(undefined);

export function MeProvider({ children }: { children: ReactNode }) {
    const me = useData((signal) => api.me(signal), [], { everyMs: 60_000 });
    return <Context.Provider value={me.data}>{children}</Context.Provider>;
}

export const useMe = (): Me | undefined => useContext(Context);

const enough: Record<Need, readonly string[]> = { operator: ['operator', 'admin'], admin: ['admin'] };

// Nothing is forbidden while nobody knows; the server decides in the end.
export function useMay(): (need: Need) => boolean {
    const me = useMe();
    return (need) => !me || enough[need].includes(me.role);
}

// For a button: whether it can be pressed, and why not.
export function useAllowed(need: Need): { disabled: boolean; title?: string } {
    const { t } = useI18n();
    const allowed = useMay()(need);
    return allowed ? { disabled: false } : { disabled: true, title: t('me.needs', { role: need }) };
}
