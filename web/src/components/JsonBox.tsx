// Any JSON as text. Never as markup: what is in it was written by whoever submitted the task.
import { Typography } from 'antd';
import { pretty } from '../format';

export function JsonBox({ value }: { value: unknown }) {
    const text = typeof value === 'string' ? value : pretty(value);
    return (
        <div className="code-box">
            <Typography.Text className="code-copy" copyable={{ text }} />
            <pre>{text}</pre>
        </div>
    );
}
