// Runs what an execution ran once more, with other parameters: also one that succeeded, or whose task runs once.
import { App, Form, Input, Modal } from 'antd';
import { useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { api, asProblem } from '../../api/client';
import type { JsonText } from '../../api/json';
import type { Execution, TaskFields } from '../../api/types';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { problemLines } from '../../i18n/said';
import { jsonOf, jsonRule } from '../tasks/fieldTexts';
import { parametersText } from '../tasks/taskFields';

// What was said when it was submitted, but for what would make it the same one again, or what is over.
const once = ['id', 'run_at', 'delay', 'unique_key', 'unique_for', 'traceparent', 'tracestate'];

async function runAnew(execution: Execution, parameters: JsonText | undefined): Promise<string> {
    if (execution.origin !== 'once') {
        const { id } = await api.triggerTask(execution.task_id, { parameters, force: true });
        return id;
    }
    const task = (await api.task(execution.id)) as unknown as Record<string, unknown>;
    const fields = Object.fromEntries(
        Object.entries(task).filter(
            ([name, value]) => given.has(name) && !once.includes(name) && value !== null,
        ),
    );
    const made = await api.createTask({ ...fields, parameters } as unknown as TaskFields);
    return made.id;
}

// The fields of a task that a request may have; its answer has more.
const given = new Set<string>([
    'name',
    'type',
    'queue',
    'priority',
    'timeout_seconds',
    'max_retry',
    'retry_policy',
    'load_balance_strategy',
    'metadata',
    'labels',
    'executor',
    'expires_after',
    'concurrency_key',
    'concurrency_max',
    'rate_limit',
    'locks',
    'steps',
    'on_failure',
    'shards',
    'each_worker',
    'parallel_max',
    'min_success',
] satisfies (keyof TaskFields)[]);

export function RerunDialog({ execution, onClose }: { execution: Execution; onClose: () => void }) {
    const { t } = useI18n();
    const { message } = App.useApp();
    const navigate = useNavigate();
    const [form] = Form.useForm<{ parameters: string }>();
    const [busy, setBusy] = useState(false);
    const [before] = useState(parametersText({ parameters: execution.parameters ?? null }));
    const first = useFirstField();
    const run = async ({ parameters }: { parameters: string }) => {
        setBusy(true);
        try {
            const id = await runAnew(execution, jsonOf(parameters));
            void message.success(t('rerun.done'));
            onClose();
            navigate(`/executions/${encodeURIComponent(id)}`);
        } catch (error) {
            form.setFields([{ name: 'parameters', errors: problemLines(asProblem(error), t) }]);
            setBusy(false);
        }
    };
    return (
        <Modal
            open
            title={t('rerun.title', { name: execution.task_name })}
            okText={t('action.trigger')}
            confirmLoading={busy}
            afterOpenChange={first.afterOpenChange}
            onOk={form.submit}
            onCancel={onClose}
        >
            <p className="muted">{t(execution.origin === 'once' ? 'rerun.what' : 'rerun.whatTask')}</p>
            <Form form={form} layout="vertical" onFinish={run} initialValues={{ parameters: before }}>
                <Form.Item name="parameters" label={t('task.parameters')} rules={[jsonRule(t)]}>
                    <Input.TextArea
                        ref={first.field}
                        autoSize={{ minRows: 4, maxRows: 14 }}
                        className="mono"
                        spellCheck={false}
                    />
                </Form.Item>
            </Form>
        </Modal>
    );
}
