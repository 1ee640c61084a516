// Days without fires, chosen in a calendar.
import { DatePicker } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import { useMemo } from 'react';

interface Props {
    id?: string;
    value?: string[];
    onChange?: (dates: string[] | undefined) => void;
}

export function ExcludedDates({ id, value, onChange }: Props) {
    const days = useMemo(() => (value ?? []).map((day) => dayjs(day)), [value]);
    // As days alone: what zone they are in is the task's, not the browser's.
    const put = (days: Dayjs | Dayjs[] | null) => {
        const chosen = [days ?? []].flat().map((day) => day.format('YYYY-MM-DD'));
        onChange?.(chosen.length > 0 ? chosen.sort() : undefined);
    };
    return (
        <DatePicker
            id={id}
            multiple
            needConfirm={false}
            maxTagCount="responsive"
            style={{ width: '100%' }}
            value={days as never}
            // At each click: the picker itself would wait until it is closed, and forget if the form is drawn anew.
            onCalendarChange={put as never}
            onChange={put as never}
        />
    );
}
