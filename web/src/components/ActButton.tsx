// A button that changes something. Who may not press it sees which role is needed.
import { Button, type ButtonProps } from 'antd';
import { type Need, useAllowed } from '../hooks/useMe';

export function ActButton({ need = 'operator', disabled, title, ...rest }: ButtonProps & { need?: Need }) {
    const allowed = useAllowed(need);
    return <Button {...rest} disabled={disabled || allowed.disabled} title={allowed.title ?? title} />;
}
