// Alerts: what is wrong now, what was, and the rules that decide it.
import { Card, Tabs } from 'antd';
import { api } from '../../api/client';
import { PageHeader } from '../../components/PageHeader';
import { Loaded } from '../../components/States';
import { useData } from '../../hooks/useData';
import { useTab } from '../../hooks/useTab';
import { useI18n } from '../../i18n';
import { AlertTable } from './AlertTable';
import { Channels } from './Channels';
import { Rules } from './Rules';

export default function Alerts() {
    const { t } = useI18n();
    const [tab, setTab] = useTab(['active', 'rules', 'history', 'channels']);
    const options = { topics: ['alert'] as const, everyMs: 10_000 };
    const active = useData((signal) => api.alerts(undefined, signal), [], options);
    const history = useData((signal) => api.alerts('resolved', signal), [], {
        ...options,
        paused: tab !== 'history',
    });
    const rules = useData((signal) => api.alertRules(signal), [], options);
    const reload = () => {
        active.reload();
        rules.reload();
    };
    return (
        <>
            <PageHeader title={t('nav.alerts')} about={t('alert.about')} />
            <Card className="card-table">
                <Tabs
                    className="card-tabs"
                    activeKey={tab}
                    onChange={setTab}
                    items={[
                        {
                            key: 'active',
                            label: t('alert.active') + (active.data ? ` (${active.data.items.length})` : ''),
                            children: (
                                <Loaded of={active}>
                                    {({ items }) => (
                                        <AlertTable
                                            alerts={items}
                                            changed={reload}
                                            empty={t('alert.none')}
                                            emptyText={t('alert.noneText')}
                                        />
                                    )}
                                </Loaded>
                            ),
                        },
                        {
                            key: 'rules',
                            label: t('alert.rules'),
                            children: (
                                <Loaded of={rules}>
                                    {({ items }) => <Rules rules={items} changed={reload} />}
                                </Loaded>
                            ),
                        },
                        {
                            key: 'history',
                            label: t('alert.history'),
                            children: (
                                <Loaded of={history}>
                                    {({ items }) => (
                                        <AlertTable
                                            alerts={items}
                                            over
                                            changed={history.reload}
                                            empty={t('alert.noHistory')}
                                            emptyText={t('alert.noHistoryText')}
                                        />
                                    )}
                                </Loaded>
                            ),
                        },
                        { key: 'channels', label: t('alert.channels'), children: <Channels /> },
                    ]}
                />
            </Card>
        </>
    );
}
