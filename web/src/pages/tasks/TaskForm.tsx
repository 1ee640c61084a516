// Creates a task, or changes one.
import { Alert, App, AutoComplete, Button, Collapse, Drawer, Form, Input, InputNumber } from 'antd';
import { useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { api, asProblem, type Problem } from '../../api/client';
import type { Task } from '../../api/types';
import { ProblemAlert } from '../../components/Problems';
import { useData } from '../../hooks/useData';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { problemLines } from '../../i18n/said';
import { AdvancedFields } from './AdvancedFields';
import { isRecurring } from './schedule';
import { ScheduleFields } from './ScheduleFields';
import { answersOf, changesOf, fieldsOf, jsonRule, type TaskAnswers } from './taskFields';

interface Props {
    task?: Task; // Absent: a new one.
    onClose: () => void;
    onSaved: (task: Task) => void;
}

// The types that some worker runs, to choose from.
function useKnownTypes() {
    const workers = useData((signal) => api.workers(signal), []);
    const types = new Set(workers.data?.items.flatMap((worker) => worker.types) ?? []);
    return [...types].sort().map((value) => ({ value, label: value }));
}

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
    const types = useKnownTypes();
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
                initialValues={answersOf(before)}
                scrollToFirstError
            >
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
                            options={types}
                            placeholder={t('task.typeDefault')}
                            filterOption={(typed, option) => (option?.value ?? '').includes(typed)}
                        />
                    </Form.Item>
                </div>
                <ScheduleFields form={form} editing={!!before} />
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
                            children: <AdvancedFields form={form} />,
                        },
                    ]}
                />
            </Form>
        </Drawer>
    );
}
