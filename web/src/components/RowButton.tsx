// A button in a table's row: with its text where there is room, by its icon alone on a phone.
import { Button, type ButtonProps } from 'antd';
import { forwardRef } from 'react';
import { type Need, useAllowed } from '../hooks/useMe';

// `label` says what it does, `name` to what: a screen reader has no row to look at.
interface Props extends Omit<ButtonProps, 'children' | 'aria-label'> {
    label: string;
    name: string;
    need?: Need;
}

// With a ref, so that a menu can be hung on it.
export const RowButton = forwardRef<HTMLButtonElement, Props>(
    ({ label, name, need = 'operator', className = '', disabled, title, ...rest }, ref) => {
        const allowed = useAllowed(need);
        return (
            <Button
                ref={ref}
                size="small"
                className={`row-button ${className}`}
                aria-label={`${label}: ${name}`}
                {...rest}
                disabled={disabled || allowed.disabled}
                title={allowed.title ?? title}
            >
                <span className="row-button-text">{label}</span>
            </Button>
        );
    },
);
