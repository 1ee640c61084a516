// Makes up for past due times of a task: what would run, the start, and how far it is.
import { Alert, Button, DatePicker, Form, InputNumber, Modal, Progress, Skeleton } from 'antd';
import dayjs, { type Dayjs } from 'dayjs';
import { useEffect, useState } from 'react';
import { Link } from 'react-router-dom';
import { api, asProblem, type Problem } from '../../api/client';
import type { Backfill, Execution, Task } from '../../api/types';
import { ProblemAlert, ProblemWords } from '../../components/Problems';
import { StatusTag } from '../../components/StatusTag';
import { formatFire, formatNumber } from '../../format';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { CountsBar, useCountsText } from '../flow/CountsBar';
import './BackfillDialog.css';

const typingPauseMs = 300;
const timesShown = 8;
// As the server has it unless told otherwise.
const parallelUnlessGiven = 10;

interface Range {
    from: string;
    to: string;
}

// What would run, for the range that was chosen last. `answer` is of another range while it is being asked.
function usePreview(task: Task, { from, to }: Range) {
    const [state, setState] = useState<{ of?: string; answer?: Backfill; problem?: Problem }>({});
    const key = `${from} ${to}`;
    useEffect(() => {
        let gone = false;
        const timer = setTimeout(() => {
            api.backfill(task.id, { from, to, dry_run: true }).then(
                (answer) => !gone && setState({ of: key, answer }),
                (error: unknown) => !gone && setState({ of: key, problem: asProblem(error) }),
            );
        }, typingPauseMs);
        return () => {
            gone = true;
            clearTimeout(timer);
        };
    }, [task.id, from, to, key]);
    return state.of === key ? state : {};
}

function WouldRun({ task, preview }: { task: Task; preview: ReturnType<typeof usePreview> }) {
    const { t, locale } = useI18n();
    const { answer, problem } = preview;
    if (problem) {
        return (
            <div className="backfill-preview" role="alert">
                <ProblemWords problem={problem} />
            </div>
        );
    }
    if (!answer) return <Skeleton active paragraph={{ rows: 2 }} title={false} />;
    const { count, existing, due } = answer;
    const number = (value: number) => formatNumber(value, locale);
    return (
        <div className="backfill-preview" data-testid="backfill-preview">
            <b>{count > 0 ? t('backfill.wouldRun', { count: number(count) }) : t('backfill.nothing')}</b>
            {existing > 0 && (
                <div className="muted">{t('backfill.existing', { count: number(existing) })}</div>
            )}
            {due.length > 0 && (
                <div className="muted small">{t('backfill.zone', { zone: task.timezone ?? 'UTC' })}</div>
            )}
            {due.length > 0 && (
                <ol>
                    {due.slice(0, timesShown).map((at) => (
                        <li key={at}>{formatFire(at, locale, task.timezone ?? 'UTC')}</li>
                    ))}
                </ol>
            )}
            {count > timesShown && (
                <div className="muted small">{t('backfill.more', { count: number(count - timesShown) })}</div>
            )}
        </div>
    );
}

function HowFar({ run }: { run: Execution }) {
    const { t } = useI18n();
    const countsText = useCountsText();
    const steps = useData((signal) => api.steps(run.id, signal), [run.id], {
        topics: ['task'],
        everyMs: 1_000,
    });
    const step = steps.data?.items[0];
    const total = step?.executions.total ?? 0;
    const over = step ? total - step.executions.running - step.executions.waiting : 0;
    return (
        <div data-testid="backfill-progress">
            <p>
                {step && <StatusTag status={step.status} />}{' '}
                <Link to={`/executions/${encodeURIComponent(run.id)}`}>{t('backfill.open')}</Link>
            </p>
            <Progress percent={total > 0 ? Math.floor((over / total) * 100) : 0} />
            {step && (
                <>
                    <CountsBar counts={step.executions} />
                    <p className="muted small">{countsText(step.executions)}</p>
                </>
            )}
            <p className="muted">{t('backfill.goesOn')}</p>
        </div>
    );
}

export function BackfillDialog({ task, onClose }: { task: Task; onClose: () => void }) {
    const { t } = useI18n();
    const [range, setRange] = useState<[Dayjs, Dayjs]>(() => [
        dayjs().subtract(1, 'day').startOf('day'),
        dayjs(),
    ]);
    const [parallel, setParallel] = useState<number | null>(
        task.execution_mode === 'parallel' ? parallelUnlessGiven : 1,
    );
    const [run, setRun] = useState<Execution>();
    const [problem, setProblem] = useState<Problem>();
    const [busy, setBusy] = useState(false);
    const asked = { from: range[0].toISOString(), to: range[1].toISOString() };
    const preview = usePreview(task, asked);
    const count = preview.answer?.count ?? 0;
    const sequential = task.execution_mode === undefined || task.execution_mode === 'sequential';

    const start = async () => {
        setBusy(true);
        setProblem(undefined);
        try {
            const made = await api.backfill(task.id, { ...asked, parallel_max: parallel ?? undefined });
            setRun(made.run ?? undefined);
        } catch (error) {
            setProblem(asProblem(error));
        }
        setBusy(false);
    };

    return (
        <Modal
            open
            title={t('backfill.title', { name: task.name })}
            onCancel={onClose}
            footer={
                run ? (
                    <Button type="primary" onClick={onClose}>
                        {t('backfill.close')}
                    </Button>
                ) : (
                    <>
                        <Button onClick={onClose}>{t('action.back')}</Button>
                        <Button
                            type="primary"
                            loading={busy}
                            disabled={count === 0}
                            onClick={() => void start()}
                        >
                            {t('backfill.start', { count })}
                        </Button>
                    </>
                )
            }
        >
            {problem && <ProblemAlert problem={problem} />}
            {run ? (
                <HowFar run={run} />
            ) : (
                <Form layout="vertical">
                    <p className="muted">{t('backfill.what')}</p>
                    <Form.Item label={t('backfill.range')}>
                        <DatePicker.RangePicker
                            showTime={{ format: 'HH:mm' }}
                            allowClear={false}
                            style={{ width: '100%' }}
                            value={range}
                            disabledDate={(day) => day.isAfter(dayjs())}
                            onChange={(next) => next?.[0] && next[1] && setRange([next[0], next[1]])}
                        />
                    </Form.Item>
                    <Form.Item
                        label={t('backfill.parallel')}
                        extra={sequential ? t('backfill.sequential') : undefined}
                        htmlFor="backfill-parallel"
                    >
                        <InputNumber
                            id="backfill-parallel"
                            min={1}
                            max={1000}
                            precision={0}
                            disabled={sequential}
                            value={sequential ? 1 : parallel}
                            onChange={setParallel}
                        />
                    </Form.Item>
                    <WouldRun task={task} preview={preview} />
                    {count > 0 && <Alert type="info" showIcon message={t('backfill.retention')} />}
                </Form>
            )}
        </Modal>
    );
}
