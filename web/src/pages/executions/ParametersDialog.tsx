// Asks for the parameters of a run and starts it; what is wrong is said beside them.
import { App, Form, Input, Modal } from 'antd';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router-dom';
import { asProblem } from '../../api/client';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';
import { problemLines } from '../../i18n/said';
import { jsonRule } from '../tasks/fieldTexts';

interface Props<Answer> {
    title: string;
    what: string;
    done: string;
    initial: Answer;
    run: (answer: Answer) => Promise<string>; // The id of the execution.
    onClose: () => void;
    children?: ReactNode; // More fields.
}

export function ParametersDialog<Answer extends { parameters: string }>(props: Props<Answer>) {
    const { title, what, done, initial, run, onClose, children } = props;
    const { t } = useI18n();
    const { message } = App.useApp();
    const navigate = useNavigate();
    const [form] = Form.useForm<Answer>();
    const [busy, setBusy] = useState(false);
    const first = useFirstField();
    const start = async (answer: Answer) => {
        setBusy(true);
        try {
            const id = await run(answer);
            void message.success(done);
            onClose();
            navigate(`/executions/${encodeURIComponent(id)}`);
        } catch (error) {
            form.setFields([{ name: 'parameters' as never, errors: problemLines(asProblem(error), t) }]);
            setBusy(false);
        }
    };
    return (
        <Modal
            open
            title={title}
            okText={t('action.trigger')}
            confirmLoading={busy}
            afterOpenChange={first.afterOpenChange}
            onOk={form.submit}
            onCancel={onClose}
        >
            <p className="muted">{what}</p>
            <Form<Answer> form={form} layout="vertical" onFinish={start} initialValues={initial}>
                <Form.Item name={'parameters' as never} label={t('task.parameters')} rules={[jsonRule(t)]}>
                    <Input.TextArea
                        ref={first.field}
                        autoSize={{ minRows: 4, maxRows: 14 }}
                        className="mono"
                        spellCheck={false}
                    />
                </Form.Item>
                {children}
            </Form>
        </Modal>
    );
}
