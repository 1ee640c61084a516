// The fields of a workflow and of the step that is chosen, as a form. What it has no field for stays in the YAML.
import { DeleteOutlined, PlusOutlined } from '@ant-design/icons';
import { AutoComplete, Button, Form, Input, InputNumber, Select } from 'antd';
import { type ReactNode, useEffect, useState } from 'react';
import { useI18n } from '../../i18n';
import { typesOf, useWorkers } from '../tasks/RunnableNote';
import { scheduleText } from '../tasks/schedule';
import { type FlowText, jsonText, type Mistake, type Path, stepsOf } from './flowText';

interface Props {
    flow: FlowText;
    mistakes: Mistake[];
    chosen: string | undefined;
    onChoose: (name: string | undefined) => void;
    onSet: (path: Path, value: unknown) => void;
    onRename: (index: number, name: string) => void;
    onAdd: () => void;
    onRemove: (index: number) => void;
}

const text = (value: unknown): string => (value === undefined || value === null ? '' : String(value));
const whens = ['all_success', 'any_success', 'all_done', 'any_failed', 'none_failed'] as const;

// Takes effect when the person is done with it: half a name is nobody's name.
function Line({
    value,
    onDone,
    placeholder,
    label,
}: {
    value: string;
    onDone: (text: string) => void;
    placeholder?: string;
    label: string;
}) {
    const [typed, setTyped] = useState(value);
    useEffect(() => setTyped(value), [value]);
    const done = () => {
        if (typed.trim() !== value) onDone(typed.trim());
    };
    return (
        <Input
            aria-label={label}
            value={typed}
            placeholder={placeholder}
            onChange={(event) => setTyped(event.target.value)}
            onBlur={done}
            onPressEnter={done}
        />
    );
}

// JSON, which is not taken while it is none.
function JsonLine({
    value,
    onDone,
    label,
}: {
    value: unknown;
    onDone: (value: unknown) => void;
    label: string;
}) {
    const { t } = useI18n();
    const given = value === undefined ? '' : jsonText(value);
    const [typed, setTyped] = useState(given);
    const [wrong, setWrong] = useState('');
    useEffect(() => {
        setTyped(given);
        setWrong('');
    }, [given]);
    const done = () => {
        if (typed === given) return;
        try {
            onDone(typed.trim() ? (JSON.parse(typed) as unknown) : undefined);
            setWrong('');
        } catch (error) {
            setWrong(t('form.badJson', { why: error instanceof Error ? error.message : '' }));
        }
    };
    return (
        <>
            <Input.TextArea
                aria-label={label}
                className="mono"
                spellCheck={false}
                autoSize={{ minRows: 2, maxRows: 8 }}
                status={wrong ? 'error' : undefined}
                value={typed}
                onChange={(event) => setTyped(event.target.value)}
                onBlur={done}
            />
            {wrong && <div className="field-wrong small">{wrong}</div>}
        </>
    );
}

function Fan({ step, set }: { step: Record<string, unknown>; set: (name: string, value: unknown) => void }) {
    const { t } = useI18n();
    const kind = step.each_worker
        ? 'each_worker'
        : step.for_each !== undefined
          ? 'for_each'
          : step.shards !== undefined
            ? 'shards'
            : 'one';
    const choose = (next: string) => {
        for (const name of ['shards', 'for_each', 'each_worker']) if (name !== next) set(name, undefined);
        if (next === 'shards') set('shards', 4);
        if (next === 'each_worker') set('each_worker', true);
        if (next === 'for_each') set('for_each', { $input: '/items' });
    };
    return (
        <>
            <Select
                aria-label={t('editor.fan')}
                value={kind}
                onChange={choose}
                options={[
                    { value: 'one', label: t('editor.fanOne') },
                    { value: 'shards', label: t('flow.fan.shards') },
                    { value: 'for_each', label: t('flow.fan.for_each') },
                    { value: 'each_worker', label: t('flow.fan.each_worker') },
                ]}
            />
            {kind === 'shards' && (
                <InputNumber
                    aria-label={t('flow.fan.shards')}
                    min={1}
                    max={10_000}
                    precision={0}
                    value={Number(step.shards)}
                    onChange={(value) => set('shards', value ?? 1)}
                />
            )}
            {kind === 'for_each' && (
                <JsonLine
                    label={t('flow.fan.for_each')}
                    value={step.for_each}
                    onDone={(value) => set('for_each', value)}
                />
            )}
        </>
    );
}

export function StepForm({ flow, mistakes, chosen, onChoose, onSet, onRename, onAdd, onRemove }: Props) {
    const { t } = useI18n();
    const workers = useWorkers();
    const { fields } = flow;
    const all = Array.isArray(fields.steps) ? (fields.steps as unknown[]) : [];
    const steps = stepsOf(fields);
    const index = all.findIndex((step) => (step as { name?: unknown } | null)?.name === chosen);
    const step = index < 0 ? undefined : (all[index] as Record<string, unknown>);
    // What is wrong at this place, or below it.
    const wrong = (path: Path): string =>
        mistakes
            .filter((mistake) => path.every((part, place) => mistake.path[place] === part))
            .map(({ message }) => message)
            .join(' · ');
    const item = (label: string, path: Path, input: ReactNode, extra?: string) => {
        const said = wrong(path);
        return (
            <Form.Item
                label={label}
                validateStatus={said ? 'error' : undefined}
                help={said || undefined}
                extra={extra}
            >
                {input}
            </Form.Item>
        );
    };
    const set = (name: string, value: unknown) => onSet(['steps', index, name], value);
    const line = (label: string, path: Path, value: unknown, placeholder?: string) =>
        item(
            label,
            path,
            <Line
                label={label}
                value={text(value)}
                placeholder={placeholder}
                onDone={(typed) => onSet(path, typed)}
            />,
        );
    return (
        <Form layout="vertical" className="editor-form" disabled={!flow.readable}>
            {line(t('task.name'), ['name'], fields.name, t('task.nameExample'))}
            <div className="form-pair">
                {line(
                    t('schedule.cron'),
                    ['cron_expression'],
                    fields.cron_expression,
                    scheduleText(fields, t),
                )}
                {line(t('schedule.timezone'), ['timezone'], fields.timezone, 'UTC')}
            </div>
            <Form.Item label={t('flow.steps')}>
                <div className="row-gap">
                    <Select
                        aria-label={t('editor.step')}
                        style={{ minWidth: 160, flex: 1 }}
                        placeholder={t('editor.chooseStep')}
                        value={step ? chosen : undefined}
                        onChange={onChoose}
                        options={steps.map(({ name }) => ({ value: text(name), label: text(name) }))}
                    />
                    <Button icon={<PlusOutlined />} onClick={onAdd}>
                        {t('editor.addStep')}
                    </Button>
                    {step && (
                        <Button
                            danger
                            icon={<DeleteOutlined />}
                            aria-label={t('editor.removeStep', { name: text(step.name) })}
                            onClick={() => onRemove(index)}
                        />
                    )}
                </div>
            </Form.Item>
            {step && (
                <div data-testid="step-form">
                    {item(
                        t('editor.stepName'),
                        ['steps', index, 'name'],
                        <Line
                            label={t('editor.stepName')}
                            value={text(step.name)}
                            onDone={(name) => name && onRename(index, name)}
                        />,
                    )}
                    {item(
                        t('task.type'),
                        ['steps', index, 'type'],
                        <AutoComplete
                            aria-label={t('task.type')}
                            allowClear
                            value={text(step.type)}
                            placeholder={t('task.typeDefault')}
                            options={typesOf(workers).map((value) => ({ value }))}
                            filterOption={(typed, option) => (option?.value ?? '').includes(typed)}
                            onChange={(value: string | undefined) => set('type', value ?? '')}
                        />,
                    )}
                    {item(
                        t('flow.after'),
                        ['steps', index, 'after'],
                        <Select
                            aria-label={t('flow.after')}
                            mode="multiple"
                            value={Array.isArray(step.after) ? step.after.map(text) : []}
                            options={steps
                                .filter(({ name }) => name !== step.name)
                                .map(({ name }) => ({ value: text(name), label: text(name) }))}
                            onChange={(after: string[]) => set('after', after)}
                        />,
                    )}
                    {item(
                        t('flow.begins'),
                        ['steps', index, 'when'],
                        <Select
                            aria-label={t('flow.begins')}
                            value={text(step.when) || 'all_success'}
                            options={whens.map((value) => ({ value, label: t(`flow.when.${value}`) }))}
                            onChange={(when) => set('when', when === 'all_success' ? undefined : when)}
                        />,
                    )}
                    {item(t('editor.fan'), ['steps', index, 'shards'], <Fan step={step} set={set} />)}
                    {item(
                        t('editor.input'),
                        ['steps', index, 'payload'],
                        <JsonLine
                            label={t('editor.input')}
                            value={step.payload}
                            onDone={(value) => set('payload', value)}
                        />,
                        t('editor.inputHelp'),
                    )}
                    <div className="form-pair">
                        {line(t('queue.queue'), ['steps', index, 'queue'], step.queue, 'default')}
                        {line(
                            t('task.timeout'),
                            ['steps', index, 'timeout_seconds'],
                            step.timeout_seconds,
                            '5m',
                        )}
                    </div>
                </div>
            )}
        </Form>
    );
}
