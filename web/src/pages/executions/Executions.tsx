// All executions, newest first: filters, pages, and doing something with many at once.
import { CloseCircleOutlined, DownOutlined, RedoOutlined } from '@ant-design/icons';
import { Button, Card, Dropdown } from 'antd';
import { useState } from 'react';
import { type SetURLSearchParams, useLocation, useSearchParams } from 'react-router-dom';
import { type ExecutionFilter, isFinished, withQuery } from '../../api/client';
import type { Execution } from '../../api/types';
import { CopyMenu } from '../../components/CopyMenu';
import { cliLine } from '../../components/copyLines';
import { NewRows } from '../../components/NewRows';
import { PageHeader } from '../../components/PageHeader';
import { Loaded } from '../../components/States';
import { formatTime } from '../../format';
import { useMay } from '../../hooks/useMe';
import { useI18n } from '../../i18n';
import { ExecutionTable } from './ExecutionTable';
import { filterOf, Filters, flagsOf } from './Filters';
import { StateTabs } from './StateTabs';
import { useBulk } from './useBulk';
import { useExecutionList } from './useExecutionList';

// Pages by cursor. A cursor leads on only, so the way that was come is kept with the place in the browser's
// history; the page before is found by it.
function usePaging(filter: ExecutionFilter, setQuery: SetURLSearchParams, moved: () => void) {
    const { state } = useLocation() as { state: { way?: string[] } | null };
    const [query] = useSearchParams();
    const way = state?.way;
    const go = (next: ExecutionFilter, cursor: string | undefined, nextWay: string[]) => {
        const pairs = Object.entries({ ...next, cursor }).filter(([, value]) => value) as [string, string][];
        setQuery(new URLSearchParams(pairs), { state: { way: nextWay } });
        moved();
        window.scrollTo({ top: 0 });
    };
    return {
        put: (next: ExecutionFilter, cursor?: string) =>
            go(next, cursor, cursor ? [...(way ?? []), query.get('cursor') ?? ''] : []),
        // Nothing where the person came from elsewhere: then nobody knows.
        back:
            way && way.length > 0
                ? () => go(filter, way[way.length - 1] || undefined, way.slice(0, -1))
                : undefined,
    };
}

export default function Executions() {
    const { t, locale } = useI18n();
    const may = useMay();
    const [query, setQuery] = useSearchParams();
    const filter = filterOf(query);
    const cursor = query.get('cursor') ?? undefined;
    const [chosen, setChosen] = useState<Execution[]>([]);
    const executions = useExecutionList(filter, cursor);
    const { back, put } = usePaging(filter, setQuery, () => setChosen([]));
    const bulk = useBulk(() => {
        setChosen([]);
        executions.reload();
    });
    const filtered = Object.keys(filter).length > 0;
    const unfinished = chosen.filter(({ status }) => !isFinished(status));
    const again = chosen.filter(({ status }) => status === 'failed' || status === 'cancelled');

    return (
        <>
            <PageHeader
                title={t('nav.executions')}
                about={t('execution.about')}
                actions={
                    <>
                        <CopyMenu
                            lines={[
                                {
                                    label: t('copy.show'),
                                    call: { method: 'GET', path: withQuery('executions', { ...filter }) },
                                    cli: cliLine('list', ...flagsOf(filter)),
                                },
                            ]}
                        />
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
                    </>
                }
            />
            <Card className="card-table">
                <StateTabs filter={filter} onChange={(change) => put({ ...filter, ...change })} />
                <Filters filter={filter} onChange={(next) => put(next)} />
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
                    {({ page, fresh, freshMore }) => (
                        <>
                            <NewRows count={fresh} more={freshMore} onShow={executions.showNew} />
                            <ExecutionTable
                                items={page.items}
                                empty={filtered ? t('execution.noMatch') : t('execution.none')}
                                emptyText={filtered ? t('execution.noMatchText') : t('execution.noneText')}
                                emptyAction={
                                    filtered && <Button onClick={() => put({})}>{t('action.clear')}</Button>
                                }
                                selection={{
                                    selectedRowKeys: chosen.map(({ id }) => id),
                                    onChange: (_, rows) => setChosen(rows),
                                    preserveSelectedRowKeys: false,
                                    getCheckboxProps: ({ task_name }) => ({
                                        title: t('list.choose', { name: task_name }),
                                    }),
                                }}
                            />
                            {page.searched_to && (
                                <div className="searched muted small" role="status">
                                    {t('list.searchedTo', { at: formatTime(page.searched_to, locale) })}
                                </div>
                            )}
                            {page.parameters_searched_to && (
                                <div className="searched muted small" role="status">
                                    {t('list.parametersSearchedTo', {
                                        at: formatTime(page.parameters_searched_to, locale),
                                    })}
                                </div>
                            )}
                            {(cursor || page.next_cursor) && (
                                <div className="table-foot">
                                    <Button disabled={!cursor} onClick={() => put(filter)}>
                                        {t('action.newest')}
                                    </Button>
                                    <span className="row-gap">
                                        <Button disabled={!cursor || !back} onClick={() => back?.()}>
                                            {t('list.newer')}
                                        </Button>
                                        <Button
                                            disabled={!page.next_cursor}
                                            onClick={() => put(filter, page.next_cursor ?? undefined)}
                                        >
                                            {page.searched_to ? t('list.searchOn') : t('action.older')}
                                        </Button>
                                    </span>
                                </div>
                            )}
                        </>
                    )}
                </Loaded>
            </Card>
        </>
    );
}
