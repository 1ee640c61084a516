// The access token that this browser signs its calls with, and whether the server asks for one.
// Kept for the tab only, unless the person asks to stay signed in.

const key = 'takt.token';
let refused = false;
const listeners = new Set<() => void>();

function changed(): void {
    for (const listener of listeners) listener();
}

export const token = {
    get: (): string => sessionStorage.getItem(key) ?? localStorage.getItem(key) ?? '',

    set(text: string, stay: boolean): void {
        token.forget();
        (stay ? localStorage : sessionStorage).setItem(key, text);
        refused = false;
        changed();
    },

    forget(): void {
        sessionStorage.removeItem(key);
        localStorage.removeItem(key);
        changed();
    },

    // The server answered 401: what we have, if anything, is not good enough.
    refuse(): void {
        if (refused) return;
        refused = true;
        changed();
    },

    isRefused: (): boolean => refused,

    watch(listener: () => void): () => void {
        listeners.add(listener);
        return () => listeners.delete(listener);
    },
};
