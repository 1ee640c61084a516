// A choice in a form. Forms tell their fields that they are required, which Ant Design's would write on an element
// that has no role; the label says it.
import { Select, type SelectProps } from 'antd';

export function FormSelect({ 'aria-required': _, ...rest }: SelectProps & { 'aria-required'?: boolean }) {
    return <Select {...rest} />;
}
