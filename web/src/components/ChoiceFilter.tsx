// A filter by one name: offers what there is, and takes what is typed, which may be gone by now.
import { Select } from 'antd';
import { useState } from 'react';

export interface Choice {
    value: string;
    label: string;
}

interface Props {
    label: string;
    value: string | undefined;
    choices: Choice[];
    onChange: (value: string | undefined) => void;
    onSearch?: (typed: string) => void; // Where the choices are found by the server.
    width?: number | string;
}

const has = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());

export function ChoiceFilter({ label, value, choices, onChange, onSearch, width = 160 }: Props) {
    const [typed, setTyped] = useState('');
    const known = (text: string) => choices.some((choice) => choice.value === text);
    const extra = [value ?? '', typed.trim()].filter((text) => text && !known(text));
    const options = [...new Set(extra)].map((text) => ({ value: text, label: text })).concat(choices);
    const search = (text: string) => {
        setTyped(text);
        onSearch?.(text.trim());
    };
    return (
        <Select
            showSearch
            allowClear
            style={{ width }}
            placeholder={label}
            aria-label={label}
            value={value}
            options={options}
            onSearch={search}
            popupMatchSelectWidth={false}
            filterOption={(text, option) =>
                !!option && (has(option.label, text) || has(option.value, text) || option.value === text)
            }
            filterSort={(a, b) => Number(a.value === typed) - Number(b.value === typed)}
            onChange={(chosen: string | undefined) => {
                setTyped('');
                onChange(chosen || undefined);
            }}
        />
    );
}
