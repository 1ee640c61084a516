// After an upgrade the server has other files: a page that was opened before it asks for some that are gone.
// Loading the page anew gets the new ones. Once by itself; if that did not help, only by hand.

const key = 'takt.reloaded';
let underWay = false;

export const isReloading = (): boolean => underWay;

export function reloadIfFilesAreGone(): void {
    window.addEventListener('vite:preloadError', () => {
        if (underWay || sessionStorage.getItem(key)) return;
        sessionStorage.setItem(key, 'yes');
        underWay = true;
        location.reload();
    });
}
