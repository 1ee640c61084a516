// Who is signed in, in the header. Where everything is open there is nobody to name.
import { UserOutlined } from '@ant-design/icons';
import { Tooltip } from 'antd';
import { useMe } from '../hooks/useMe';
import { useI18n } from '../i18n';

export function WhoAmI() {
    const { t } = useI18n();
    const me = useMe();
    if (!me?.access_control) return null;
    return (
        <Tooltip title={t('me.tip', { who: me.who, role: me.role, space: me.namespace })}>
            <span className="muted nowrap wide-only" data-testid="who">
                <UserOutlined /> {me.who} · {me.role}
            </span>
        </Tooltip>
    );
}
