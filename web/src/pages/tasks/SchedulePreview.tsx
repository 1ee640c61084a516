// When a schedule would fire, in words and dates, while it is being typed.
import { ClockCircleOutlined } from '@ant-design/icons';
import { useEffect, useState } from 'react';
import { api, Problem } from '../../api/client';
import type { Fires, TaskFields } from '../../api/types';
import { ProblemWords } from '../../components/Problems';
import { Ago } from '../../components/Time';
import { formatFire } from '../../format';
import { useI18n } from '../../i18n';

const firesShown = 5;
const typingPauseMs = 250;

interface Props {
    schedule: Partial<TaskFields>;
}

export function SchedulePreview({ schedule }: Props) {
    const { t, language, locale } = useI18n();
    // With the zone that was asked for: what is typed by now may be another, or none at all.
    const [fires, setFires] = useState<Fires & { zone?: string }>();
    const [problem, setProblem] = useState<Problem>();
    const asked = JSON.stringify(schedule);

    useEffect(() => {
        const gone = new AbortController();
        const timer = setTimeout(() => {
            api.preview({ ...(JSON.parse(asked) as object), count: firesShown }, gone.signal).then(
                (answer) => {
                    setFires({ ...answer, zone: (JSON.parse(asked) as Partial<TaskFields>).timezone });
                    setProblem(undefined);
                },
                (error: unknown) => {
                    if (!gone.signal.aborted && error instanceof Problem) setProblem(error);
                },
            );
        }, typingPauseMs);
        return () => {
            clearTimeout(timer);
            gone.abort();
        };
    }, [asked]);

    if (problem) {
        return (
            <div className="preview preview-problem" role="alert">
                <ProblemWords problem={problem} />
            </div>
        );
    }
    if (!fires) return null;
    const words = language === 'zh' ? (fires.description_zh ?? fires.description) : fires.description;
    const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const zone = fires.zone && fires.zone !== own ? fires.zone : undefined;
    return (
        <div className="preview" data-testid="preview">
            <div className="preview-words">
                <ClockCircleOutlined /> {words}
            </div>
            {fires.fires.length === 0 && <div className="muted">{t('schedule.noFires')}</div>}
            <ol>
                {fires.fires.map((at) => (
                    <li key={at}>
                        <span>
                            {formatFire(at, locale)}
                            {zone && (
                                <span className="muted">
                                    {' '}
                                    · {zone} {formatFire(at, locale, zone)}
                                </span>
                            )}
                        </span>
                        <span className="muted">
                            <Ago at={at} coming />
                        </span>
                    </li>
                ))}
            </ol>
        </div>
    );
}
