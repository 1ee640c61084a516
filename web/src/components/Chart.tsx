// A chart of ECharts, which is loaded when the first one is shown.
import { Skeleton } from 'antd';
import { useEffect, useRef, useState } from 'react';
import type { ChartOption, EChartsType } from './echarts';

interface Props {
    option: ChartOption;
    height?: number;
    label: string; // For those who cannot see it.
    onClick?: (index: number) => void;
}

export function Chart({ option, height = 220, label, onClick }: Props) {
    const place = useRef<HTMLDivElement>(null);
    const chart = useRef<EChartsType>();
    const clicked = useRef(onClick);
    clicked.current = onClick;
    const [ready, setReady] = useState(false);
    const [broken, setBroken] = useState<unknown>();
    if (broken) throw broken; // For the boundary around the page.

    useEffect(() => {
        let gone = false;
        let observer: ResizeObserver | undefined;
        void import('./echarts').then(({ init }) => {
            if (gone || !place.current) return;
            const made = init(place.current);
            chart.current = made;
            made.on('click', (event) => clicked.current?.(event.dataIndex as number));
            observer = new ResizeObserver(() => made.resize());
            observer.observe(place.current);
            setReady(true);
        }, setBroken);
        return () => {
            gone = true;
            observer?.disconnect();
            chart.current?.dispose();
        };
    }, []);

    useEffect(() => {
        // Not merged: a series that went away must not stay on the picture.
        if (ready) chart.current?.setOption(option, { notMerge: true, lazyUpdate: true });
    }, [ready, option]);

    return (
        <div className="chart" style={{ height }} role="img" aria-label={label}>
            {!ready && <Skeleton.Node active className="chart-wait" />}
            <div ref={place} style={{ height }} />
        </div>
    );
}
