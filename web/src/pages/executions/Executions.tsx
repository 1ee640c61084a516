// All executions, newest first: filters, pages, and doing something with many at once.
import { CloseCircleOutlined, DownOutlined, RedoOutlined } from '@ant-design/icons';
import { Button, Card, Dropdown } from 'antd';
import { useState } from 'react';
import { useSearchParams } from 'react-router-dom';
import { api, isFinished } from '../../api/client';
import type { Execution } from '../../api/types';
import { PageHeader } from '../../components/PageHeader';
import { Loaded } from '../../components/States';
import { useData } from '../../hooks/useData';
import { useMay } from '../../hooks/useMe';
import { useI18n } from '../../i18n';
import { ExecutionTable } from './ExecutionTable';
import { filterOf, Filters } from './Filters';
import { useBulk } from './useBulk';

const pageSize = 50;

export default function Executions() {
    const { t } = useI18n();
    const may = useMay();
    const [query, setQuery] = useSearchParams();
    const filter = filterOf(query);
    const cursor = query.get('cursor') ?? undefined;
    const [chosen, setChosen] = useState<Execution[]>([]);
    const executions = useData(
        (signal) => api.executions({ ...filter, cursor, limit: pageSize }, signal),
        [query.toString()],
        // Older pages do not get anything new, but what is on them changes.
        { topics: ['task'], everyMs: 15_000 },
    );
    const bulk = useBulk(() => {
        setChosen([]);
        executions.reload();
    });
    const put = (values: object, replace: boolean) => {
        const pairs = Object.entries(values).filter(([, value]) => value) as [string, string][];
        setQuery(new URLSearchParams(pairs), { replace });
        setChosen([]);
    };
    const filtered = Object.keys(filter).length > 0;
    const unfinished = chosen.filter(({ status }) => !isFinished(status));
    const again = chosen.filter(({ status }) => status === 'failed' || status === 'cancelled');

    return (
        <>
            <PageHeader
                title={t('nav.executions')}
                about={t('execution.about')}
                actions={
                    <Dropdown
                        disabled={!may('operator')}
                        trigger={['click']}
                        menu={{
                            items: [
                                {
                                    key: 'retry',
                                    icon: <RedoOutlined />,
                                    label: t('bulk.retryAll'),
                                    onClick: () => void bulk.retryMatching(filter),
                                },
                                {
                                    key: 'cancel',
                                    danger: true,
                                    icon: <CloseCircleOutlined />,
                                    label: t('bulk.cancelAll'),
                                    onClick: () => void bulk.cancelMatching(filter),
                                },
                            ],
                        }}
                    >
                        <Button>
                            {filtered ? t('bulk.allMatching') : t('bulk.all')} <DownOutlined />
                        </Button>
                    </Dropdown>
                }
            />
            <Card className="card-table">
                <Filters filter={filter} onChange={(next) => put(next, false)} />
                {chosen.length > 0 && (
                    <div className="bulk">
                        <span>{t('bulk.chosen', { count: chosen.length })}</span>
                        <Button
                            size="small"
                            icon={<RedoOutlined />}
                            disabled={again.length === 0 || !may('operator')}
                            onClick={() => bulk.retry(again)}
                        >
                            {t('bulk.retry', { count: again.length })}
                        </Button>
                        <Button
                            size="small"
                            danger
                            icon={<CloseCircleOutlined />}
                            disabled={unfinished.length === 0 || !may('operator')}
                            onClick={() => bulk.cancel(unfinished)}
                        >
                            {t('bulk.cancel', { count: unfinished.length })}
                        </Button>
                    </div>
                )}
                <Loaded of={executions}>
                    {({ items, next_cursor }) => (
                        <>
                            <ExecutionTable
                                items={items}
                                empty={filtered ? t('execution.noMatch') : t('execution.none')}
                                emptyText={filtered ? t('execution.noMatchText') : t('execution.noneText')}
                                emptyAction={
                                    filtered && (
                                        <Button onClick={() => put({}, false)}>{t('action.clear')}</Button>
                                    )
                                }
                                selection={{
                                    selectedRowKeys: chosen.map(({ id }) => id),
                                    onChange: (_, rows) => setChosen(rows),
                                    preserveSelectedRowKeys: false,
                                }}
                            />
                            {(cursor || next_cursor) && (
                                <div className="table-foot">
                                    <Button disabled={!cursor} onClick={() => put(filter, false)}>
                                        {t('action.newest')}
                                    </Button>
                                    <Button
                                        disabled={!next_cursor}
                                        onClick={() => put({ ...filter, cursor: next_cursor }, false)}
                                    >
                                        {t('action.older')}
                                    </Button>
                                </div>
                            )}
                        </>
                    )}
                </Loaded>
            </Card>
        </>
    );
}
