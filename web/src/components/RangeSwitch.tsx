// How far back the charts of a page go. It stands in the address, so that it can be sent to somebody.
import { Segmented } from 'antd';
import { useUrlFilter } from '../hooks/useUrlFilter';
import { useI18n } from '../i18n';

// In minutes; schedulers keep six hours.
const ranges = ['15', '60', '360'] as const;
const standard = '60';

export function useRange(): { minutes: number; range: string; put: (range: string) => void } {
    const { filter, put } = useUrlFilter(['minutes'] as const);
    const range = ranges.find((each) => each === filter.minutes) ?? standard;
    return {
        minutes: Number(range),
        range,
        put: (next) => put({ minutes: next === standard ? undefined : next }),
    };
}

export function RangeSwitch() {
    const { t } = useI18n();
    const { range, put } = useRange();
    return (
        <Segmented
            aria-label={t('range.charts')}
            value={range}
            onChange={put}
            options={ranges.map((value) => ({ value, label: t(`range.minutes.${value}`) }))}
        />
    );
}
