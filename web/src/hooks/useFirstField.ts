// Puts the keyboard into the first field of a dialog or drawer. autoFocus comes too early for it: the content is
// still hidden then, and when it is shown the dialog takes the keyboard for itself.
import { useRef } from 'react';

interface Focusable {
    focus: () => void;
}

// `field` is the ref of the field, `afterOpenChange` belongs to the dialog.
export function useFirstField() {
    const found = useRef<Focusable | null>(null);
    const field = useRef((it: Focusable | null) => {
        found.current = it;
    }).current;
    const afterOpenChange = (open: boolean) => {
        if (open) found.current?.focus();
    };
    return { field, afterOpenChange };
}
