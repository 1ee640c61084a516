// Deletes a namespace with all that is in it. Its name is typed first: a click alone is too little for that.
import { Alert, Form, Input, Modal } from 'antd';
import { useState } from 'react';
import { api } from '../../api/client';
import { useAct } from '../../hooks/useAct';
import { useFirstField } from '../../hooks/useFirstField';
import { useI18n } from '../../i18n';

interface Props {
    name: string;
    onClose: () => void;
    changed: () => void;
}

export function DeleteNamespace({ name, onClose, changed }: Props) {
    const { t } = useI18n();
    const { act } = useAct();
    const [typed, setTyped] = useState('');
    const [busy, setBusy] = useState(false);
    const first = useFirstField();
    const remove = async () => {
        if (typed !== name) return;
        setBusy(true);
        if (await act(t('space.deleted', { name }), () => api.deleteNamespace(name, typed))) {
            changed();
            onClose();
        }
        setBusy(false);
    };
    return (
        <Modal
            open
            title={t('space.deleteTitle', { name })}
            okText={t('action.delete')}
            okButtonProps={{ danger: true, disabled: typed !== name }}
            confirmLoading={busy}
            afterOpenChange={first.afterOpenChange}
            onOk={() => void remove()}
            onCancel={onClose}
        >
            <Alert type="warning" showIcon message={t('space.deleteWhat')} style={{ marginBottom: 12 }} />
            <Form layout="vertical" onFinish={() => void remove()}>
                <Form.Item label={t('space.typeName', { name })} htmlFor="space-name">
                    <Input
                        id="space-name"
                        ref={first.field}
                        value={typed}
                        autoComplete="off"
                        onChange={(event) => setTyped(event.target.value)}
                    />
                </Form.Item>
            </Form>
        </Modal>
    );
}
