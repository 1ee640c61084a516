// The graph of a workflow, in its place: what draws it is loaded when it is needed.
import { Skeleton } from 'antd';
import { lazy, Suspense } from 'react';
import { Boundary } from '../../components/Boundary';
import type { FlowGraphProps } from './FlowGraph';

const FlowGraph = lazy(() => import('./FlowGraph'));

export function FlowView(props: FlowGraphProps) {
    return (
        <Boundary>
            <Suspense
                fallback={<Skeleton active paragraph={{ rows: 4 }} title={false} className="loading" />}
            >
                <FlowGraph {...props} />
            </Suspense>
        </Boundary>
    );
}
