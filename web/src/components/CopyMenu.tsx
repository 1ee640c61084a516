// Copies what a button does as a line of curl, or of the program's own commands.
import { CopyOutlined } from '@ant-design/icons';
import { App, Button, Dropdown, Input } from 'antd';
import { token } from '../api/token';
import { useI18n } from '../i18n';
import { type CallLine, curlLine } from './copyLines';

export interface Copied {
    label: string; // What the line does.
    call: CallLine;
    cli?: string;
}

export function CopyMenu({ lines }: { lines: Copied[] }) {
    const { t } = useI18n();
    const { message, modal } = App.useApp();
    const copy = async (line: string) => {
        try {
            await navigator.clipboard.writeText(line);
            void message.success(
                token.get() ? `${t('copy.copied')}. ${t('copy.needsToken')}` : t('copy.copied'),
            );
        } catch {
            // Without https a browser has no clipboard for pages.
            modal.info({
                title: t('copy.failed'),
                width: 640,
                content: <Input.TextArea readOnly autoSize className="mono" defaultValue={line} />,
            });
        }
    };
    const items = lines.flatMap(({ label, call, cli }, index) => [
        { key: `${index}curl`, label: `${label}: curl`, onClick: () => void copy(curlLine(call)) },
        ...(cli ? [{ key: `${index}cli`, label: `${label}: takt`, onClick: () => void copy(cli) }] : []),
    ]);
    return (
        <Dropdown trigger={['click']} menu={{ items }}>
            <Button icon={<CopyOutlined />}>{t('copy.copy')}</Button>
        </Dropdown>
    );
}
