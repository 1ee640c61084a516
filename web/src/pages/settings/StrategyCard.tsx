// How a worker is chosen for tasks that name no strategy of their own.
import { Card, Select } from 'antd';
import { api } from '../../api/client';
import { ActButton } from '../../components/ActButton';
import { Loaded } from '../../components/States';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { useAllowed } from '../../hooks/useMe';
import { type TextKey, useI18n } from '../../i18n';

// The strategies that this console can say something about.
const described: Record<string, TextKey> = {
    least_tasks: 'strategy.least_tasks',
    round_robin: 'strategy.round_robin',
    weighted_round_robin: 'strategy.weighted_round_robin',
    random: 'strategy.random',
    consistent_hash: 'strategy.consistent_hash',
    least_connections: 'strategy.least_connections',
    capacity_based: 'strategy.capacity_based',
    sticky: 'strategy.sticky',
    resource_aware: 'strategy.resource_aware',
};

export function StrategyCard() {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const allowed = useAllowed('operator');
    const strategy = useData((signal) => api.strategy(signal), [], { topics: ['leader'] });
    const choose = (value: string) =>
        confirm(
            {
                title: t('settings.strategyTitle', { name: value }),
                what: t('settings.strategyWhat'),
                ok: t('action.change'),
                danger: false,
            },
            async () => {
                if (await act(t('settings.strategyChanged', { name: value }), () => api.setStrategy(value)))
                    strategy.reload();
            },
        );
    const reset = () =>
        confirm(
            { title: t('settings.resetTitle'), what: t('settings.resetWhat'), ok: t('settings.reset') },
            async () => {
                await act(t('settings.resetDone'), api.resetStrategy);
            },
        );
    return (
        <Card
            size="small"
            className="span-6"
            title={t('settings.strategy')}
            extra={
                <ActButton size="small" onClick={reset}>
                    {t('settings.reset')}
                </ActButton>
            }
        >
            <p className="muted">{t('settings.strategyAbout')}</p>
            <Loaded of={strategy}>
                {(data) => {
                    const words = described[data.strategy];
                    return (
                        <>
                            <Select
                                {...allowed}
                                aria-label={t('settings.strategy')}
                                value={data.strategy}
                                onChange={choose}
                                style={{ width: '100%' }}
                                options={data.available.map((value) => ({ value, label: value }))}
                            />
                            {words && <p className="setting-words">{t(words)}</p>}
                        </>
                    );
                }}
            </Loaded>
        </Card>
    );
}
