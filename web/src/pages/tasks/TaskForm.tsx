// Creates a task, or changes one.
import {
    Alert,
    App,
    AutoComplete,
    Button,
    Collapse,
    Drawer,
    Form,
    type FormInstance,
    Input,
    InputNumber,
} from 'antd';
import { type KeyboardEvent, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { api, asProblem, type Problem } from '../../api/client';
import type { Task } from '../../api/types';
import { Boundary } from '../../components/Boundary';
import { ProblemAlert } from '../../components/Problems';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { problemLines } from '../../i18n/said';
import { AdvancedFields } from './AdvancedFields';
import { isRecurring } from './schedule';
import { ScheduleFields } from './ScheduleFields';
import { jsonRule } from './fieldTexts';
import { RunnableNote, typesOf, useWorkers } from './RunnableNote';
import { answersOf, changesOf, fieldsOf, newAnswers, type TaskAnswers } from './taskFields';
import { useTaskDraft } from './useTaskDraft';

interface Props {
    task?: Task; // Absent: a new one.
    onClose: () => void;
    onSaved: (task: Task) => void;
}

// Enter chooses what is offered; it does not send the form at the same time. At Escape a browser would empty the
// field, which is one of search to it.
const chooseOnly = (event: KeyboardEvent) => {
    if (event.key === 'Enter' || event.key === 'Escape') event.preventDefault();
};
// Escape closes what is offered, not the form; and what is typed stays.
const closeOnly = (event: KeyboardEvent) => {
    if (event.key === 'Escape') event.stopPropagation();
};

// Every field without a value, so that nothing of what was restored stays.
const emptied = (form: FormInstance<TaskAnswers>): Partial<TaskAnswers> =>
    Object.fromEntries(Object.keys(form.getFieldsValue()).map((name) => [name, undefined]));

export function TaskForm({ task, onClose, onSaved }: Props) {
    const { t } = useI18n();
    const { message } = App.useApp();
    const navigate = useNavigate();
    const [form] = Form.useForm<TaskAnswers>();
    const [problem, setProblem] = useState<Problem>();
    const [busy, setBusy] = useState(false);
    // The task as it was when the form was opened. The page reads it again meanwhile; what the person did not
    // touch must not undo what somebody else has changed since.
    const [before] = useState(task);
    const overtaken = task?.version !== before?.version;
    const workers = useWorkers();
    const draft = useTaskDraft();
    const [restored, setRestored] = useState(!task && draft.restored);
    const asked = Form.useWatch(
        ({ type, name, queue }: TaskAnswers) => ({
            type: type?.trim() || name?.trim(),
            queue: queue?.trim(),
        }),
        form,
    );
    const first = useFirstField();

    const showProblem = (error: unknown) => {
        const found = asProblem(error);
        const name = found.field as keyof TaskAnswers;
        if (found.field && form.getFieldInstance(name))
            form.setFields([{ name, errors: problemLines(found, t) }]);
        else setProblem(found);
    };
    const save = async (answers: TaskAnswers) => {
        setBusy(true);
        setProblem(undefined);
        try {
            const saved = before
                ? await api.changeTask(before.id, before.version, changesOf(before, answers))
                : await api.createTask(fieldsOf(answers));
            void message.success(t(before ? 'task.saved' : 'task.created', { name: saved.name }));
            if (!before) draft.forget();
            onSaved(saved);
            onClose();
            if (!before)
                navigate(
                    isRecurring(saved)
                        ? `/tasks/${encodeURIComponent(saved.id)}`
                        : `/executions/${encodeURIComponent(saved.id)}`,
                );
        } catch (error) {
            showProblem(error);
            setBusy(false);
        }
    };

    return (
        <Drawer
            open
            width={Math.min(620, window.innerWidth)}
            title={before ? t('task.editTitle', { name: before.name }) : t('task.new')}
            onClose={onClose}
            // A click beside it does not throw away what is filled in.
            maskClosable={false}
            afterOpenChange={first.afterOpenChange}
            footer={
                <div className="drawer-foot">
                    <Button onClick={onClose}>{t('action.back')}</Button>
                    <Button type="primary" loading={busy} onClick={form.submit}>
                        {before ? t('action.save') : t('action.create')}
                    </Button>
                </div>
            }
        >
            <Form<TaskAnswers>
                form={form}
                layout="vertical"
                onFinish={save}
                initialValues={before ? answersOf(before) : draft.answers}
                onValuesChange={(_, values) => {
                    if (!before) draft.keep(values);
                }}
                scrollToFirstError
            >
                {/* For Enter: the button that people see is below the form, outside of it. */}
                <button type="submit" hidden />
                {restored && (
                    <Alert
                        type="info"
                        showIcon
                        className="form-problem"
                        message={t('task.restored')}
                        action={
                            <Button
                                size="small"
                                onClick={() => {
                                    draft.forget();
                                    form.resetFields();
                                    form.setFieldsValue({ ...emptied(form), ...newAnswers() });
                                    setRestored(false);
                                }}
                            >
                                {t('task.startAnew')}
                            </Button>
                        }
                    />
                )}
                {problem && (
                    <ProblemAlert
                        problem={problem}
                        headline={
                            problem.code === 'precondition_failed' ? t('task.changedMeanwhile') : undefined
                        }
                    />
                )}
                {overtaken && !problem && !busy && (
                    <Alert
                        type="warning"
                        showIcon
                        message={t('task.changedMeanwhile')}
                        style={{ marginBottom: 16 }}
                    />
                )}
                <div className="form-pair">
                    <Form.Item
                        name="name"
                        label={t('task.name')}
                        rules={[{ required: true, whitespace: true, message: t('form.required') }]}
                    >
                        <Input ref={first.field} maxLength={200} placeholder={t('task.nameExample')} />
                    </Form.Item>
                    <Form.Item name="type" label={t('task.type')} extra={t('task.typeHelp')}>
                        <AutoComplete
                            allowClear
                            options={typesOf(workers).map((value) => ({ value }))}
                            onInputKeyDown={chooseOnly}
                            onKeyDown={closeOnly}
                            placeholder={t('task.typeDefault')}
                            filterOption={(typed, option) => (option?.value ?? '').includes(typed)}
                        />
                    </Form.Item>
                </div>
                {!before?.steps && (
                    <RunnableNote
                        workers={workers}
                        type={asked?.type}
                        queue={asked?.queue}
                        onChoose={(type) => form.setFieldValue('type', type)}
                    />
                )}
                <Boundary>
                    <ScheduleFields form={form} editing={!!before} />
                </Boundary>
                <Form.Item
                    name="parameters"
                    label={t('task.parameters')}
                    rules={[jsonRule(t)]}
                    extra={t('task.parametersHelp')}
                >
                    <Input.TextArea
                        autoSize={{ minRows: 3, maxRows: 12 }}
                        className="mono"
                        spellCheck={false}
                        placeholder={'{"image": 7}'}
                    />
                </Form.Item>
                <div className="form-pair">
                    <Form.Item name="priority" label={t('task.priority')} extra={t('task.priorityHelp')}>
                        <InputNumber min={0} max={9} precision={0} style={{ width: '100%' }} />
                    </Form.Item>
                    <Form.Item name="queue" label={t('queue.queue')}>
                        <Input />
                    </Form.Item>
                </div>
                <Collapse
                    ghost
                    items={[
                        {
                            key: 'more',
                            label: t('task.more'),
                            forceRender: true,
                            children: <AdvancedFields form={form} editing={!!before} />,
                        },
                    ]}
                />
            </Form>
        </Drawer>
    );
}
