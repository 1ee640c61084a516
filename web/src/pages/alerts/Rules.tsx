// The rules: what is watched, and what it is now.
import { MoreOutlined, PlusOutlined } from '@ant-design/icons';
import { Button, Dropdown, type MenuProps, Switch, Table, type TableProps, Tag, Tooltip } from 'antd';
import { useState } from 'react';
import { api } from '../../api/client';
import type { AlertRule } from '../../api/observe';
import { ActButton } from '../../components/ActButton';
import { EmptyNote } from '../../components/States';
import { Badge, SeverityTag } from '../../components/StatusTag';
import { Ago } from '../../components/Time';
import { formatSpan } from '../../format';
import { useAct } from '../../hooks/useAct';
import { usePalette } from '../../hooks/usePalette';
import { useI18n } from '../../i18n';
import { silences } from './AlertTable';
import { conditionText, ruleText, valueText } from './alertText';
import { RuleForm } from './RuleForm';

const fieldsOf = ({
    description,
    metric,
    operator,
    threshold,
    subject,
    duration,
    severity,
    enabled,
    channels,
}: AlertRule) => ({
    description,
    metric,
    operator,
    threshold,
    subject,
    duration,
    severity,
    enabled,
    ...(channels.length > 0 ? { channels } : {}),
});

function useRuleActions(changed: () => void) {
    const { t } = useI18n();
    const { act, confirm } = useAct();
    const run = async (done: string, call: () => Promise<unknown>) => {
        if (await act(done, call)) changed();
    };
    return {
        enable: (rule: AlertRule, enabled: boolean) => {
            const call = () =>
                run(t('alert.ruleSaved', { name: rule.name }), () =>
                    api.saveAlertRule(rule.name, rule.version, { ...fieldsOf(rule), enabled }),
                );
            if (enabled) return void call();
            confirm(
                {
                    title: t('alert.disableTitle', { name: rule.name }),
                    what: t('alert.disableWhat'),
                    ok: t('alert.disable'),
                },
                call,
            );
        },
        silence: (rule: AlertRule, time: string) =>
            run(t('alert.wasSilenced', { name: rule.name, time }), () => api.silenceRule(rule.name, time)),
        unsilence: (rule: AlertRule) =>
            run(t('alert.heardAgain', { name: rule.name }), () => api.unsilenceRule(rule.name)),
        remove: (rule: AlertRule) =>
            confirm(
                {
                    title: t('alert.deleteTitle', { name: rule.name }),
                    what: t('alert.deleteWhat'),
                    ok: t('action.delete'),
                },
                () =>
                    run(t('alert.ruleDeleted', { name: rule.name }), () =>
                        api.deleteAlertRule(rule.name, rule.version),
                    ),
            ),
    };
}

function useColumns(edit: (rule: AlertRule) => void, changed: () => void): TableProps<AlertRule>['columns'] {
    const { t, locale } = useI18n();
    const palette = usePalette();
    const actions = useRuleActions(changed);
    const colours = {
        ok: palette.status.success,
        pending: palette.status.retrying,
        firing: palette.status.failed,
        resolved: palette.status.success,
    };
    const menuOf = (rule: AlertRule): MenuProps => ({
        items: [
            { key: 'edit', label: t('action.edit'), onClick: () => edit(rule) },
            rule.silenced_until
                ? { key: 'hear', label: t('alert.unsilence'), onClick: () => void actions.unsilence(rule) }
                : {
                      key: 'silence',
                      label: t('alert.silence'),
                      children: silences.map((key) => ({
                          key,
                          label: t('alert.silenceFor', { time: formatSpan(key) }),
                          onClick: () => void actions.silence(rule, key),
                      })),
                  },
            { type: 'divider' },
            {
                key: 'delete',
                danger: true,
                disabled: rule.builtin,
                label: t('action.delete'),
                onClick: () => actions.remove(rule),
            },
        ],
    });
    return [
        {
            title: t('alert.rule'),
            render: (_, rule) => (
                <div className="two-lines">
                    <span className="cell-main">
                        {rule.name} {rule.builtin && <Tag>{t('alert.builtin')}</Tag>}
                    </span>
                    <span className="muted small">{ruleText(rule, t)}</span>
                </div>
            ),
        },
        {
            title: t('alert.condition'),
            render: (_, rule) => <Tooltip title={rule.metric}>{conditionText(rule, t, locale)}</Tooltip>,
            responsive: ['md'],
        },
        {
            title: t('alert.severity'),
            render: (_, { severity }) => <SeverityTag severity={severity} />,
            responsive: ['lg'],
        },
        {
            title: t('alert.state'),
            render: (_, rule) => (
                <div className="two-lines">
                    {rule.enabled ? (
                        <Badge colour={colours[rule.state]} label={t(`alertState.${rule.state}`)} />
                    ) : (
                        <Badge colour={palette.status.skipped} label={t('alert.off')} />
                    )}
                    {rule.silenced_until && (
                        <span className="muted small">
                            {t('alert.silenced')} <Ago at={rule.silenced_until} />
                        </span>
                    )}
                </div>
            ),
        },
        {
            title: t('alert.value'),
            align: 'right',
            render: (_, { metric, value }) => (
                <span className="number nowrap">{valueText(metric, value, locale)}</span>
            ),
            responsive: ['md'],
        },
        {
            title: t('alert.channels'),
            render: (_, { channels }) =>
                channels.length > 0
                    ? channels.map((name) => <Tag key={name}>{name}</Tag>)
                    : t('alert.everyChannel'),
            responsive: ['lg'],
        },
        {
            align: 'right',
            render: (_, rule) => (
                <span className="row-gap nowrap">
                    <Switch
                        size="small"
                        checked={rule.enabled}
                        aria-label={`${t('alert.enabled')}: ${rule.name}`}
                        onChange={(on) => actions.enable(rule, on)}
                    />
                    <Dropdown trigger={['click']} menu={menuOf(rule)}>
                        <Button
                            type="text"
                            size="small"
                            icon={<MoreOutlined />}
                            aria-label={`${t('action.more')}: ${rule.name}`}
                        />
                    </Dropdown>
                </span>
            ),
        },
    ];
}

export function Rules({ rules, changed }: { rules: AlertRule[]; changed: () => void }) {
    const { t } = useI18n();
    const [editing, setEditing] = useState<AlertRule | 'new'>();
    const columns = useColumns(setEditing, changed);
    const create = (
        <ActButton need="admin" type="primary" icon={<PlusOutlined />} onClick={() => setEditing('new')}>
            {t('alert.newRule')}
        </ActButton>
    );
    return (
        <>
            <div className="filters">{create}</div>
            <Table
                size="small"
                rowKey="name"
                columns={columns}
                dataSource={rules}
                pagination={false}
                locale={{
                    emptyText: (
                        <EmptyNote title={t('alert.noRules')} text={t('alert.noRulesText')} action={create} />
                    ),
                }}
            />
            {editing && (
                <RuleForm
                    rule={editing === 'new' ? undefined : editing}
                    onClose={() => setEditing(undefined)}
                    changed={changed}
                />
            )}
        </>
    );
}
