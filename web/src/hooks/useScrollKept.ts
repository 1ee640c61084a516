// Where a page was scrolled to: Back leads to the same place, a new page begins at its top.
import { useEffect } from 'react';
import { useLocation, useNavigationType } from 'react-router-dom';

const places = new Map<string, number>();
// A list needs a moment until it is as long as it was.
const patienceMs = 3_000;

export function useScrollKept(): void {
    const { key, pathname } = useLocation();
    const kind = useNavigationType();
    useEffect(() => {
        history.scrollRestoration = 'manual';
        const remember = () => places.set(key, window.scrollY);
        window.addEventListener('scroll', remember, { passive: true });
        return () => window.removeEventListener('scroll', remember);
    }, [key]);
    useEffect(() => {
        const wanted = kind === 'POP' ? (places.get(key) ?? 0) : 0;
        // Filters and dialogs are in the address too; they do not move the page.
        if (wanted === 0) return void (kind === 'PUSH' && window.scrollTo({ top: 0 }));
        const until = Date.now() + patienceMs;
        let frame = 0;
        const go = () => {
            window.scrollTo({ top: wanted });
            if (Math.abs(window.scrollY - wanted) < 2 || Date.now() > until) return;
            frame = requestAnimationFrame(go);
        };
        // Whoever scrolls meanwhile means it.
        const stop = () => cancelAnimationFrame(frame);
        window.addEventListener('wheel', stop, { passive: true });
        window.addEventListener('touchstart', stop, { passive: true });
        frame = requestAnimationFrame(go);
        return () => {
            stop();
            window.removeEventListener('wheel', stop);
            window.removeEventListener('touchstart', stop);
        };
        // Of a place in the history, once; the key is another one for each.
        // eslint-disable-next-line react-hooks/exhaustive-deps
    }, [pathname, kind === 'POP' ? key : '']);
}
