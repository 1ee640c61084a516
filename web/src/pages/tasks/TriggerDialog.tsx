// Runs a task now, with its own parameters or others.
import { App, Checkbox, Form, Input, Modal } from 'antd';
import { useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { api, asProblem } from '../../api/client';
import type { Task } from '../../api/types';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { problemLines } from '../../i18n/said';
import { jsonOf, jsonRule } from './fieldTexts';
import { parametersText } from './taskFields';

interface Answer {
    parameters: string;
    force: boolean;
}

export function TriggerDialog({ task, onClose }: { task: Task; onClose: () => void }) {
    const { t } = useI18n();
    const { message } = App.useApp();
    const navigate = useNavigate();
    const [form] = Form.useForm<Answer>();
    const [busy, setBusy] = useState(false);
    const [before] = useState(parametersText(task));
    const first = useFirstField();

    const trigger = async (answer: Answer) => {
        setBusy(true);
        try {
            // Left out, they are the task's own as they are now.
            const parameters = answer.parameters === before ? undefined : jsonOf(answer.parameters);
            const execution = await api.triggerTask(task.id, { parameters, force: answer.force });
            void message.success(t('task.triggered', { name: task.name }));
            onClose();
            navigate(`/executions/${encodeURIComponent(execution.id)}`);
        } catch (error) {
            form.setFields([{ name: 'parameters', errors: problemLines(asProblem(error), t) }]);
            setBusy(false);
        }
    };

    return (
        <Modal
            open
            title={t('task.triggerTitle', { name: task.name })}
            okText={t('action.trigger')}
            confirmLoading={busy}
            afterOpenChange={first.afterOpenChange}
            onOk={form.submit}
            onCancel={onClose}
        >
            <p className="muted">{t('task.triggerWhat')}</p>
            <Form<Answer>
                form={form}
                layout="vertical"
                onFinish={trigger}
                initialValues={{ parameters: before, force: false }}
            >
                <Form.Item name="parameters" label={t('task.parameters')} rules={[jsonRule(t)]}>
                    <Input.TextArea
                        ref={first.field}
                        autoSize={{ minRows: 4, maxRows: 14 }}
                        className="mono"
                        spellCheck={false}
                    />
                </Form.Item>
                <Form.Item name="force" valuePropName="checked" extra={t('task.forceHelp')}>
                    <Checkbox>{t('task.force')}</Checkbox>
                </Form.Item>
            </Form>
        </Modal>
    );
}
