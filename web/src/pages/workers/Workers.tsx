// Who does the work: workers that connect to us, and executors that we call.
import { Card, Tabs } from 'antd';
import { api } from '../../api/client';
import { PageHeader } from '../../components/PageHeader';
import { Loaded } from '../../components/States';
import { useData } from '../../hooks/useData';
import { useTab } from '../../hooks/useTab';
import { useI18n } from '../../i18n';
import { ExecutorTable } from './ExecutorTable';
import { WorkerTable } from './WorkerTable';

export default function Workers() {
    const { t } = useI18n();
    const [tab, setTab] = useTab(['workers', 'executors']);
    const options = { topics: ['worker'] as const, everyMs: 3_000 };
    const workers = useData((signal) => api.workers(signal), [], options);
    const executors = useData((signal) => api.executors(signal), [], options);
    const streams = workers.data?.items.filter(({ link }) => link === 'stream').length;
    const count = (number: number | undefined) => (number === undefined ? '' : ` (${number})`);
    return (
        <>
            <PageHeader title={t('nav.workers')} about={t('worker.about')} />
            <Card className="card-table">
                <Tabs
                    className="card-tabs"
                    activeKey={tab}
                    onChange={setTab}
                    items={[
                        {
                            key: 'workers',
                            label: t('worker.workers') + count(streams),
                            children: (
                                <Loaded of={workers}>
                                    {({ items }) => (
                                        <WorkerTable
                                            workers={items.filter(({ link }) => link === 'stream')}
                                            changed={workers.reload}
                                        />
                                    )}
                                </Loaded>
                            ),
                        },
                        {
                            key: 'executors',
                            label: t('worker.executors') + count(executors.data?.items.length),
                            children: (
                                <Loaded of={executors}>
                                    {({ items }) => (
                                        <ExecutorTable executors={items} changed={executors.reload} />
                                    )}
                                </Loaded>
                            ),
                        },
                    ]}
                />
            </Card>
        </>
    );
}
