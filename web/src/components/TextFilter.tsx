// A text to search for. Takes effect when the person is done with it, not at each letter.
import { SearchOutlined } from '@ant-design/icons';
import { Input } from 'antd';
import { useEffect, useState } from 'react';

interface Props {
    label: string;
    value: string | undefined;
    onDone: (text: string | undefined) => void;
    width?: number;
}

export function TextFilter({ label, value, onDone, width = 270 }: Props) {
    const [typed, setTyped] = useState(value ?? '');
    useEffect(() => setTyped(value ?? ''), [value]);
    const done = () => {
        if (typed.trim() !== (value ?? '')) onDone(typed.trim() || undefined);
    };
    return (
        <Input
            allowClear
            style={{ width }}
            prefix={<SearchOutlined className="muted" />}
            placeholder={label}
            aria-label={label}
            maxLength={200}
            value={typed}
            onChange={(event) => {
                setTyped(event.target.value);
                if (!event.target.value && value) onDone(undefined);
            }}
            onPressEnter={done}
            onBlur={done}
        />
    );
}
