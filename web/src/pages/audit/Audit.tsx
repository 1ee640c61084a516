// Who did what, to what, from where, newest first.
import { DownloadOutlined } from '@ant-design/icons';
import { Button, Card, DatePicker, Input, Select, Table, type TableProps } from 'antd';
import dayjs from 'dayjs';
import { useState } from 'react';
import { useSearchParams } from 'react-router-dom';
import { api, type AuditFilter } from '../../api/client';
import type { AuditEntry } from '../../api/types';
import { ActButton } from '../../components/ActButton';
import { PageHeader } from '../../components/PageHeader';
import { EmptyNote, Loaded } from '../../components/States';
import { Badge } from '../../components/StatusTag';
import { Moment } from '../../components/Time';
import { saveBlob } from '../../download';
import { useAct } from '../../hooks/useAct';
import { useData } from '../../hooks/useData';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { actionText, kindText } from './actionText';
import { Changed } from './Changed';
import './Audit.css';

const pageSize = 50;
const texts = ['who', 'action', 'target'] as const;
const keys = [...texts, 'outcome', 'since', 'until', 'cursor'] as const;

function useColumns(): TableProps<AuditEntry>['columns'] {
    const { t } = useI18n();
    const palette = usePalette();
    return [
        { title: t('audit.at'), render: (_, { at }) => <Moment at={at} /> },
        {
            title: t('audit.who'),
            render: (_, { who, role, address }) => (
                <div className="two-lines">
                    <span className="cell-main">{who}</span>
                    <span className="muted small">{[role, address].filter(Boolean).join(' · ')}</span>
                </div>
            ),
        },
        {
            title: t('audit.action'),
            render: (_, { action, count }) => (
                <div className="two-lines">
                    <span>
                        {actionText(action, t)}
                        {count > 1 && <span className="muted"> × {count}</span>}
                    </span>
                    <code className="muted small">{action}</code>
                </div>
            ),
            responsive: ['sm'],
        },
        {
            title: t('audit.target'),
            render: (_, { target }) => (
                <div className="two-lines">
                    <span className="clip">{target.id}</span>
                    <span className="muted small">{kindText(target.kind, t)}</span>
                </div>
            ),
        },
        {
            title: t('audit.outcome'),
            render: (_, { outcome, status }) => (
                <Badge
                    colour={outcome === 'done' ? palette.status.success : palette.status.failed}
                    label={t(`audit.${outcome}`) + (status ? ` (${status})` : '')}
                />
            ),
            responsive: ['md'],
        },
    ];
}

export default function Audit() {
    const { t } = useI18n();
    const { act } = useAct();
    const [query, setQuery] = useSearchParams();
    const [round, setRound] = useState(0);
    const filter = Object.fromEntries(keys.map((key) => [key, query.get(key) ?? undefined])) as AuditFilter;
    const put = (change: AuditFilter) => {
        const next = new URLSearchParams(query);
        // Another question begins at its first page.
        if (!('cursor' in change)) next.delete('cursor');
        for (const [key, value] of Object.entries(change)) {
            if (value) next.set(key, String(value));
            else next.delete(key);
        }
        setQuery(next);
    };
    const entries = useData(
        (signal) => api.audit({ ...filter, limit: pageSize }, signal),
        [query.toString(), round],
        { everyMs: filter.cursor ? undefined : 10_000 },
    );
    const columns = useColumns();
    const time = (key: 'since' | 'until') => (
        <DatePicker
            showTime
            placeholder={t(key === 'since' ? 'range.from' : 'range.to')}
            aria-label={t(key === 'since' ? 'range.from' : 'range.to')}
            value={filter[key] ? dayjs(filter[key]) : null}
            onChange={(at) => put({ [key]: at?.toISOString() })}
        />
    );
    return (
        <>
            <PageHeader
                title={t('nav.audit')}
                about={t('audit.about')}
                actions={
                    <ActButton
                        need="admin"
                        icon={<DownloadOutlined />}
                        onClick={() =>
                            void act(t('audit.exported'), async () => {
                                const { cursor: _, ...all } = filter;
                                saveBlob('audit.jsonl', await api.auditLines(all));
                            })
                        }
                    >
                        {t('audit.export')}
                    </ActButton>
                }
            />
            <Card className="card-table">
                <div className="filters">
                    {texts.map((key) => (
                        <Input.Search
                            key={`${key} ${round}`}
                            allowClear
                            style={{ width: 170 }}
                            defaultValue={filter[key]}
                            placeholder={t(`audit.${key}`)}
                            aria-label={t(`audit.${key}`)}
                            onSearch={(text) => put({ [key]: text.trim() })}
                        />
                    ))}
                    <Select
                        allowClear
                        style={{ width: 140 }}
                        placeholder={t('audit.outcome')}
                        aria-label={t('audit.outcome')}
                        value={filter.outcome}
                        onChange={(outcome?: string) => put({ outcome })}
                        options={(['done', 'refused'] as const).map((value) => ({
                            value,
                            label: t(`audit.${value}`),
                        }))}
                    />
                    {time('since')}
                    {time('until')}
                    {query.size > 0 && (
                        <Button
                            type="link"
                            onClick={() => {
                                setQuery(new URLSearchParams());
                                setRound(round + 1);
                            }}
                        >
                            {t('action.clear')}
                        </Button>
                    )}
                </div>
                <Loaded of={entries}>
                    {({ items, next_cursor }) => (
                        <>
                            <Table
                                size="small"
                                rowKey="id"
                                columns={columns}
                                dataSource={items}
                                pagination={false}
                                expandable={{
                                    expandRowByClick: true,
                                    rowExpandable: ({ before, after }) => !!(before || after),
                                    expandedRowRender: ({ before, after, cut }) => (
                                        <>
                                            <Changed before={before ?? null} after={after ?? null} />
                                            {cut && <p className="muted small">{t('audit.cut')}</p>}
                                        </>
                                    ),
                                }}
                                locale={{
                                    emptyText: (
                                        // A call looks through a part of a long audit only.
                                        <EmptyNote
                                            title={next_cursor ? t('audit.goOn') : t('audit.none')}
                                            text={t('audit.noneText')}
                                        />
                                    ),
                                }}
                            />
                            {(filter.cursor || next_cursor) && (
                                <div className="table-foot">
                                    <Button
                                        disabled={!filter.cursor}
                                        onClick={() => put({ cursor: undefined })}
                                    >
                                        {t('action.newest')}
                                    </Button>
                                    <Button
                                        disabled={!next_cursor}
                                        onClick={() => put({ cursor: next_cursor ?? undefined })}
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
