// Days without fires, chosen in a calendar.
import { DatePicker } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';

interface Props {
    id?: string;
    value?: string[];
    onChange?: (dates: string[] | undefined) => void;
}

export function ExcludedDates({ id, value, onChange }: Props) {
    // As days alone: what zone they are in is the task's, not the browser's.
    const put = (days: Dayjs | Dayjs[] | null) => {
        const chosen = [days ?? []].flat().map((day) => day.format('YYYY-MM-DD'));
        onChange?.(chosen.length > 0 ? chosen.sort() : undefined);
    };
    return (
        <DatePicker
            id={id}
            multiple
            maxTagCount="responsive"
            style={{ width: '100%' }}
            value={(value ?? []).map((day) => dayjs(day)) as never}
            onChange={put as never}
        />
    );
}
