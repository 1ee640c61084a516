// After an upgrade the server has other files: a page that was opened before it asks for some that are gone.
// Loading the page anew gets the new ones. Once by itself; if that did not help, only by hand.

const key = 'takt.reloaded';

export function reloadIfFilesAreGone(): void {
    window.addEventListener('vite:preloadError', () => {
        if (sessionStorage.getItem(key)) return;
        // If it is the whole server that is gone, a reload would leave nothing but the browser's own error.
        fetch('/healthz').then(
            () => {
                sessionStorage.setItem(key, 'yes');
                location.reload();
            },
            () => undefined, // The page says what is missing.
        );
    });
}
