// The zone of the task that a part of a page is about, for readers who want its clock.
import { createContext, useContext } from 'react';
import { usePreferences } from './usePreferences';

const Context = createContext<string | undefined>(undefined);

export const TaskZone = Context.Provider;

// Undefined: as everywhere on the page.
export function useShownZone(): string | undefined {
    const ofTask = useContext(Context);
    const { zone } = usePreferences();
    return zone === 'task' ? ofTask : undefined;
}
