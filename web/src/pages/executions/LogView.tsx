// What an execution wrote. Follows its end while it grows, unless the person scrolls up to read.
import { DownloadOutlined } from '@ant-design/icons';
import { Button, Card, Switch } from 'antd';
import { Fragment, useEffect, useRef, useState } from 'react';
import { isFinished } from '../../api/client';
import type { Execution } from '../../api/types';
import { EmptyNote, ProblemNote } from '../../components/States';
import { saveText } from '../../download';
import { inZone } from '../../format';
import { useLog } from '../../hooks/useLog';
import { useI18n } from '../../i18n';

const nearEndPixels = 40;

const clockFormat = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const clock = (at: string, locale: string) => inZone(new Date(at), locale, clockFormat);

export function LogView({ execution }: { execution: Execution }) {
    const { t, locale } = useI18n();
    const { chunks, following, cut, problem } = useLog(execution.id, isFinished(execution.status));
    const [stick, setStick] = useState(true);
    const box = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (stick && box.current) box.current.scrollTop = box.current.scrollHeight;
    }, [chunks, stick]);

    const scrolled = () => {
        const place = box.current;
        if (place) setStick(place.scrollHeight - place.scrollTop - place.clientHeight < nearEndPixels);
    };
    const several = new Set(chunks.map(({ attempt }) => attempt)).size > 1;
    return (
        <Card
            size="small"
            className="span-12"
            title={t('log.title')}
            extra={
                <span className="row-gap">
                    {following && (
                        <span className="muted small" data-following="">
                            {t('log.following')}
                        </span>
                    )}
                    <label className="row-gap small">
                        <Switch size="small" checked={stick} onChange={setStick} /> {t('log.stick')}
                    </label>
                    <Button
                        size="small"
                        icon={<DownloadOutlined />}
                        disabled={chunks.length === 0}
                        aria-label={t('action.download')}
                        onClick={() =>
                            saveText(`${execution.id}.log`, chunks.map(({ lines }) => lines).join(''))
                        }
                    />
                </span>
            }
        >
            {problem && <ProblemNote problem={problem} />}
            {!problem && chunks.length === 0 && (
                <EmptyNote
                    title={t('log.empty')}
                    text={following ? t('log.emptyLive') : t('log.emptyText')}
                />
            )}
            {chunks.length > 0 && (
                <div className="log mono" ref={box} onScroll={scrolled} data-testid="log">
                    {cut && <div className="log-attempt">{t('log.cut')}</div>}
                    {chunks.map((chunk, index) => (
                        <Fragment key={index}>
                            {several && chunk.attempt !== chunks[index - 1]?.attempt && (
                                <div className="log-attempt">
                                    {t('log.attempt', { number: chunk.attempt })}
                                </div>
                            )}
                            {chunk.lines
                                .replace(/\n$/, '')
                                .split('\n')
                                .map((line, number) => (
                                    <div className="log-line" key={number}>
                                        <time dateTime={chunk.at}>{clock(chunk.at, locale)}</time>
                                        {line}
                                    </div>
                                ))}
                        </Fragment>
                    ))}
                </div>
            )}
        </Card>
    );
}
