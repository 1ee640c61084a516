// The access token that this browser signs its calls with, and whether the server asks for one.
// Kept for the tab only, unless the person asks to stay signed in.

const key = 'takt.token';
let refused = false;
let changing = false;
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

    // The server answered 401 to a call that was sent with `used`. Calls that were under way while the token
    // was changed say nothing about the new one.
    refuse(used: string): void {
        if (refused || changing || used !== token.get()) return;
        refused = true;
        changed();
    },

    // Calls that are refused meanwhile are no reason to ask for a token: the first one is just being made.
    async whileChanging<T>(work: () => Promise<T>): Promise<T> {
        changing = true;
        try {
            return await work();
        } finally {
            changing = false;
        }
    },

    isRefused: (): boolean => refused,

    watch(listener: () => void): () => void {
        listeners.add(listener);
        return () => listeners.delete(listener);
    },
};
