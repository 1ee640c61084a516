// Makes or changes a workflow: form, YAML and graph side by side, one text behind all of them.
import { Alert, App, Button, Card, Grid, Skeleton, Tabs } from 'antd';
import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { useNavigate, useParams } from 'react-router-dom';
import { stringify } from 'yaml';
import { api, asProblem, type Problem } from '../../api/client';
import type { Task } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { PageHeader } from '../../components/PageHeader';
import { ProblemAlert } from '../../components/Problems';
import { Loaded } from '../../components/States';
import { useData } from '../../hooks/useData';
import { useI18n } from '../../i18n';
import { FlowView } from '../flow/FlowView';
import { isRecurring } from '../tasks/schedule';
import {
    type FlowText,
    graphOf,
    jsonText,
    type Mistake,
    mistakesBySteps,
    pathOf,
    readFlow,
    stepsOf,
    withNewName,
    withoutStep,
    withStep,
    withValue,
} from './flowText';
import { StepForm } from './StepForm';
import { YamlPane } from './YamlPane';
import './editor.css';

const example = `name: nightly
cron_expression: "0 2 * * *"
steps:
  - name: extract
    type: echo
  - name: transform
    type: echo
    after: [extract]
    payload: {rows: {$from: extract}}
  - name: load
    type: echo
    after: [transform]
`;

// Fields that answers have and requests do not.
const answered = [
    'id',
    'version',
    'created_at',
    'updated_at',
    'next_fire_at',
    'last_fire_at',
    'fires',
    'missed',
];

function textOf(task: Task): string {
    const { parameters, ...rest } = task;
    const fields = Object.fromEntries(
        Object.entries(rest).filter(
            ([name, value]) => !answered.includes(name) && value !== null && !(name === 'enabled' && value),
        ),
    );
    const text = stringify(fields, { lineWidth: 0 });
    // Letter by letter as it was written; JSON is YAML too.
    return parameters ? `parameters: ${parameters.replace(/\s*\n\s*/g, ' ')}\n${text}` : text;
}

// What the server says of it, while it is written. Nothing where the server is older and cannot tell.
function useServerMistakes(flow: FlowText): { mistakes: Mistake[]; asked: boolean } {
    const json = useDeferredValue(flow.readable ? jsonText(flow.fields) : '');
    const checked = useData(
        async (signal) => {
            await new Promise((resolve) => setTimeout(resolve, 300));
            signal.throwIfAborted();
            if (!json) return { json, errors: [] };
            const { errors } = await api.validateTask(json, signal);
            return { json, errors };
        },
        [json],
    );
    const fresh = checked.data?.json === json;
    return {
        mistakes: fresh
            ? checked.data!.errors.map(({ path, message }) => ({
                  path: pathOf(path),
                  message,
                  line: flow.lineOf(pathOf(path)),
              }))
            : [],
        asked: fresh,
    };
}

// Each place once: what the console says of it is said in the reader's language.
function together(own: Mistake[], server: Mistake[]): Mistake[] {
    const places = new Set(own.map(({ path }) => path.join('.')));
    const others = server.filter(({ path }) => !places.has(path.join('.')));
    return [...own, ...others].sort((a, b) => a.line - b.line);
}

function Panes({
    text,
    setText,
    flow,
    mistakes,
}: {
    text: string;
    setText: (text: string) => void;
    flow: FlowText;
    mistakes: Mistake[];
}) {
    const { t } = useI18n();
    const wide = Grid.useBreakpoint().xl ?? window.innerWidth >= 1200;
    const [chosen, setChosen] = useState<string>();
    // While the text is no YAML the graph stays as it was last.
    const [shown, setShown] = useState(flow.fields);
    useEffect(() => {
        if (flow.readable) setShown(flow.fields);
    }, [flow]);
    const graph = useMemo(() => graphOf(shown), [shown]);
    const wrong = useMemo(() => mistakesBySteps(flow.fields, mistakes), [flow, mistakes]);
    const chooseLine = (line: number) => {
        const all = Array.isArray(flow.fields.steps) ? flow.fields.steps : [];
        const begun = all.filter((_: unknown, each: number) => flow.lineOf(['steps', each]) <= line);
        const step = begun[begun.length - 1] as { name?: unknown } | undefined;
        if (typeof step?.name === 'string') setChosen(step.name);
    };
    const form = (
        <StepForm
            flow={flow}
            mistakes={mistakes}
            chosen={chosen}
            onChoose={setChosen}
            onSet={(path, value) => setText(withValue(flow, path, value))}
            onRename={(index, name) => {
                setText(withNewName(flow, index, name));
                setChosen(name);
            }}
            onAdd={() => {
                const made = withStep(flow, chosen);
                setText(made.text);
                setChosen(made.name);
            }}
            onRemove={(index) => {
                setText(withoutStep(flow, index));
                setChosen(undefined);
            }}
        />
    );
    const yaml = <YamlPane text={text} mistakes={mistakes} onChange={setText} onLine={chooseLine} />;
    const picture = (
        <FlowView
            steps={graph}
            label={t('flow.graphOf', { name: String(flow.fields.name ?? '') })}
            chosen={chosen}
            onChoose={setChosen}
            mistakes={wrong}
            fill
        />
    );
    if (wide) {
        return (
            <div className="editor" data-testid="editor">
                <Card size="small" title={t('editor.form')} className="editor-pane">
                    {form}
                </Card>
                <Card size="small" title="YAML" className="editor-pane">
                    {yaml}
                </Card>
                <Card size="small" title={t('editor.graph')} className="editor-pane editor-graph">
                    {picture}
                </Card>
            </div>
        );
    }
    return (
        <Card size="small" className="editor-pane" data-testid="editor">
            <Tabs
                items={[
                    { key: 'form', label: t('editor.form'), children: form },
                    { key: 'yaml', label: 'YAML', children: yaml },
                    {
                        key: 'graph',
                        label: t('editor.graph'),
                        children: <div className="editor-graph">{picture}</div>,
                    },
                ]}
            />
        </Card>
    );
}

function Editor({ task }: { task?: Task }) {
    const { t } = useI18n();
    const { message } = App.useApp();
    const navigate = useNavigate();
    const [before] = useState(task);
    const [text, setText] = useState(() => (task ? textOf(task) : example));
    const [first] = useState(text);
    const flow = useMemo(() => readFlow(text, t), [text, t]);
    const server = useServerMistakes(flow);
    const mistakes = useMemo(
        () => together(flow.mistakes, server.mistakes),
        // Those of the server change with what it was asked.
        // eslint-disable-next-line react-hooks/exhaustive-deps
        [flow, JSON.stringify(server.mistakes)],
    );
    const [problem, setProblem] = useState<Problem>();
    const [busy, setBusy] = useState(false);
    useEffect(() => {
        if (text === first) return undefined;
        const ask = (event: BeforeUnloadEvent) => event.preventDefault();
        window.addEventListener('beforeunload', ask);
        return () => window.removeEventListener('beforeunload', ask);
    }, [text, first]);

    const save = async () => {
        setBusy(true);
        setProblem(undefined);
        try {
            const json = jsonText(flow.fields);
            const saved = before
                ? await api.putTaskText(before.id, before.version, json)
                : await api.createTaskText(json);
            void message.success(t(before ? 'task.saved' : 'task.created', { name: saved.name }));
            navigate(
                isRecurring(saved)
                    ? `/tasks/${encodeURIComponent(saved.id)}`
                    : `/executions/${encodeURIComponent(saved.id)}`,
            );
        } catch (error) {
            setProblem(asProblem(error));
            setBusy(false);
        }
    };
    return (
        <>
            <PageHeader
                title={before ? t('task.editTitle', { name: before.name }) : t('editor.new')}
                about={t('editor.about', { count: stepsOf(flow.fields).length })}
                actions={
                    <>
                        <Button onClick={() => navigate(-1)}>{t('action.back')}</Button>
                        <ActButton
                            type="primary"
                            loading={busy}
                            disabled={mistakes.length > 0}
                            onClick={() => void save()}
                        >
                            {before ? t('action.save') : t('action.create')}
                        </ActButton>
                    </>
                }
            />
            {problem && (
                <ProblemAlert
                    problem={problem}
                    headline={problem.code === 'precondition_failed' ? t('task.changedMeanwhile') : undefined}
                />
            )}
            {task && before && task.version !== before.version && !problem && !busy && (
                <Alert type="warning" showIcon message={t('task.changedMeanwhile')} className="below" />
            )}
            <Panes text={text} setText={setText} flow={flow} mistakes={mistakes} />
        </>
    );
}

function Existing({ id }: { id: string }) {
    const task = useData((signal) => api.task(id, signal), [id], { everyMs: 15_000 });
    if (task.loading) return <Skeleton active paragraph={{ rows: 8 }} />;
    return <Loaded of={task}>{(data) => <Editor task={data} />}</Loaded>;
}

export default function WorkflowEditor() {
    const { id } = useParams();
    return id ? <Existing key={id} id={id} /> : <Editor key="new" />;
}
