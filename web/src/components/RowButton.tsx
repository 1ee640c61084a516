// A button in a table's row: with its text where there is room, by its icon alone on a phone.
import { Button, type ButtonProps } from 'antd';
import { forwardRef } from 'react';

// `label` says what it does, `name` to what: a screen reader has no row to look at.
interface Props extends Omit<ButtonProps, 'children' | 'size' | 'aria-label'> {
    label: string;
    name: string;
}

// With a ref, so that a menu can be hung on it.
export const RowButton = forwardRef<HTMLButtonElement, Props>(
    ({ label, name, className = '', ...rest }, ref) => (
        <Button
            ref={ref}
            size="small"
            className={`row-button ${className}`}
            aria-label={`${label}: ${name}`}
            {...rest}
        >
            <span className="row-button-text">{label}</span>
        </Button>
    ),
);
