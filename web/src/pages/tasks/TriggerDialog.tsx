// Runs a task now, with its own parameters or others.
import { Checkbox, Form } from 'antd';
import { useState } from 'react';
import { api } from '../../api/client';
import type { Task } from '../../api/types';
import { useI18n } from '../../i18n';
import { ParametersDialog } from '../executions/ParametersDialog';
import { jsonOf } from './fieldTexts';
import { parametersText } from './taskFields';

export function TriggerDialog({ task, onClose }: { task: Task; onClose: () => void }) {
    const { t } = useI18n();
    const [before] = useState(parametersText(task));
    return (
        <ParametersDialog
            title={t('task.triggerTitle', { name: task.name })}
            what={t('task.triggerWhat')}
            done={t('task.triggered', { name: task.name })}
            initial={{ parameters: before, force: false }}
            run={async ({ parameters: typed, force }) => {
                // Left out, they are the task's own as they are now.
                const parameters = typed === before ? undefined : jsonOf(typed);
                return (await api.triggerTask(task.id, { parameters, force })).id;
            }}
            onClose={onClose}
        >
            <Form.Item name="force" valuePropName="checked" extra={t('task.forceHelp')}>
                <Checkbox>{t('task.force')}</Checkbox>
            </Form.Item>
        </ParametersDialog>
    );
}
