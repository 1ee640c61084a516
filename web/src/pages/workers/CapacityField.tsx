// How much a worker takes at once: what it says itself, or what an operator set instead.
import { Button, InputNumber, Modal } from 'antd';
import { useState } from 'react';
import { api } from '../../api/client';
import type { Worker } from '../../api/types';
import { useAct } from '../../hooks/useAct';
import { useAllowed } from '../../hooks/useMe';
import { useI18n } from '../../i18n';

const capacityMax = 10_000;

function CapacityDialog({ worker, onClose, changed }: Props & { onClose: () => void }) {
    const { t } = useI18n();
    const { act } = useAct();
    const [capacity, setCapacity] = useState<number | null>(worker.capacity_set);
    const save = async () => {
        const done = t('worker.capacityDone', { name: worker.name });
        if (!(await act(done, () => api.setCapacity(worker.id, capacity)))) return;
        changed();
        onClose();
    };
    return (
        <Modal
            open
            title={t('worker.capacityTitle', { name: worker.name })}
            okText={t('action.save')}
            onOk={() => void save()}
            onCancel={onClose}
        >
            <p className="muted">{t('worker.capacityWhat', { own: worker.capacity_own })}</p>
            <InputNumber
                autoFocus
                min={1}
                max={capacityMax}
                precision={0}
                value={capacity}
                placeholder={String(worker.capacity_own)}
                aria-label={t('worker.capacity')}
                onChange={setCapacity}
                onPressEnter={() => void save()}
                style={{ width: 160 }}
            />
        </Modal>
    );
}

interface Props {
    worker: Worker;
    changed: () => void;
}

export function CapacityField({ worker, changed }: Props) {
    const { t } = useI18n();
    const [editing, setEditing] = useState(false);
    const allowed = useAllowed('operator');
    const { capacity, capacity_own: own, capacity_set: set } = worker;
    return (
        <span className="row-gap">
            {set === null
                ? t('worker.capacityOf', { capacity })
                : t('worker.capacitySetOf', { capacity, own })}
            <Button
                size="small"
                type="link"
                {...allowed}
                aria-label={`${t('worker.capacityChange')}: ${t('worker.capacity')}`}
                onClick={() => setEditing(true)}
            >
                {t('worker.capacityChange')}
            </Button>
            {editing && (
                <CapacityDialog worker={worker} changed={changed} onClose={() => setEditing(false)} />
            )}
        </span>
    );
}
