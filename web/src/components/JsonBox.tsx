// Any JSON as text. Never as markup: what is in it was written by whoever submitted the task.
import { Typography } from 'antd';
import { type JsonText, prettyJson } from '../api/json';

export function JsonBox({ value }: { value: JsonText }) {
    // A string alone is shown without its quotes, with the line breaks that are in it.
    const text = value.startsWith('"') ? (JSON.parse(value) as string) : prettyJson(value);
    return (
        <div className="code-box">
            <Typography.Text className="code-copy" copyable={{ text }} />
            <pre>{text}</pre>
        </div>
    );
}
