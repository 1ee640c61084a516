// The graph of a workflow. Loaded when the first one is shown: see FlowView.
import {
    Background,
    Controls,
    type Edge,
    MarkerType,
    MiniMap,
    ReactFlow,
    type ReactFlowInstance,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { usePalette } from '../../hooks/usePalette';
import { usePreferences } from '../../hooks/usePreferences';
import { useI18n } from '../../i18n';
import { type FlowLayout, layOut, nodeHeight, nodeWidth } from './flowLayout';
import { type FlowStep, stepOfInterest } from './flowSteps';
import { StepNode, type StepNodeType } from './StepNode';
import './flow.css';

export interface FlowGraphProps {
    steps: readonly FlowStep[];
    label: string; // For those who cannot see it.
    chosen?: string;
    onChoose: (name: string) => void;
    mistakes?: ReadonlyMap<string, string>; // By the names of steps.
    fill?: boolean; // As high as its place is, and from the top down, rather than as the graph.
}

const nodeTypes = { step: StepNode };
// Around the steps; below them is room for the buttons.
const padding = { x: '16px', top: '8px', bottom: '44px' } as const;
const heightMin = 150;
const heightMax = 540;
// Names can be read from here on. A graph that does not fit at this size is moved, not made smaller.
const zoomReadable = 0.62;
// A picture with more than this has a small map of itself beside it.
const stepsAtAGlance = 12;

// The same layout as long as the steps and what they wait for are the same: a run that goes on moves nothing.
function useLayout(steps: readonly FlowStep[], narrow: boolean): FlowLayout {
    const shape = JSON.stringify(steps.map(({ name, after }) => [name, after]));
    return useMemo(() => {
        const pairs = JSON.parse(shape) as [string, string[]][];
        return layOut(
            pairs.map(([name, after]) => ({ name, after, conditional: false })),
            narrow,
        );
    }, [shape, narrow]);
}

function useEdges(steps: readonly FlowStep[]): Edge[] {
    const palette = usePalette();
    return useMemo(() => {
        const names = new Set(steps.map(({ name }) => name));
        return steps.flatMap((step) =>
            step.after
                .filter((before) => names.has(before))
                .map((before) => {
                    const colour = step.when === 'any_failed' ? palette.status.failed : palette.muted;
                    return {
                        id: `${before}\n${step.name}`,
                        source: before,
                        target: step.name,
                        animated: step.run?.status === 'running',
                        style: { stroke: colour, strokeDasharray: step.when ? '5 4' : undefined },
                        markerEnd: { type: MarkerType.ArrowClosed, color: colour, width: 14, height: 14 },
                        focusable: false,
                    };
                }),
        );
    }, [steps, palette]);
}

export default function FlowGraph({ steps, label, chosen, onChoose, mistakes, fill }: FlowGraphProps) {
    const { t } = useI18n();
    const { dark } = usePreferences();
    const palette = usePalette();
    const place = useRef<HTMLDivElement>(null);
    const [narrow] = useState(() => fill || window.innerWidth < 640);
    const layout = useLayout(steps, narrow);
    const choose = useRef(onChoose);
    choose.current = onChoose;
    const nodes = useMemo<StepNodeType[]>(
        () =>
            steps.map((step) => ({
                id: step.name,
                type: 'step',
                position: layout.places.get(step.name) ?? { x: 0, y: 0 },
                width: nodeWidth,
                height: nodeHeight,
                data: {
                    step,
                    narrow,
                    chosen: step.name === chosen,
                    mistake: mistakes?.get(step.name),
                    choose: (name: string) => choose.current(name),
                },
            })),
        [steps, layout, narrow, chosen, mistakes],
    );
    const edges = useEdges(steps);
    const flow = useRef<ReactFlowInstance<StepNodeType, Edge>>();
    const latest = useRef(steps);
    latest.current = steps;

    const show = useCallback(() => {
        const { offsetWidth = 0, offsetHeight = 0 } = place.current ?? {};
        const fits = Math.min(offsetWidth / layout.width, offsetHeight / layout.height);
        if (fits >= zoomReadable) return void flow.current?.fitView({ maxZoom: 1, padding });
        const first = stepOfInterest(latest.current)?.name ?? '';
        const at = layout.places.get(first);
        // The first step at the beginning, any other in the middle.
        const zoom = narrow ? 0.8 : 0.85;
        if (!at) return;
        const middle = { x: at.x + nodeWidth / 2, y: at.y + nodeHeight / 2 };
        if (!narrow) middle.x = Math.max(middle.x, offsetWidth / zoom / 2);
        if (narrow) middle.y = Math.max(middle.y, offsetHeight / zoom / 2);
        void flow.current?.setCenter(middle.x, middle.y, { zoom });
    }, [layout, narrow]);
    useEffect(show, [show]);

    return (
        <div
            ref={place}
            className={fill ? 'flow-graph flow-graph-fill' : 'flow-graph'}
            style={
                fill ? undefined : { height: Math.min(heightMax, Math.max(heightMin, layout.height + 60)) }
            }
            role="group"
            aria-label={label}
            data-testid="flow-graph"
        >
            <ReactFlow
                nodes={nodes}
                edges={edges}
                nodeTypes={nodeTypes}
                colorMode={dark ? 'dark' : 'light'}
                onInit={(made) => {
                    flow.current = made;
                    show();
                }}
                minZoom={0.08}
                maxZoom={1.5}
                nodesDraggable={false}
                nodesConnectable={false}
                nodesFocusable={false}
                edgesFocusable={false}
                elementsSelectable={false}
                zoomOnScroll={false}
                zoomOnDoubleClick={false}
                preventScrolling={false}
                onlyRenderVisibleElements={steps.length > 150}
                ariaLabelConfig={{
                    'controls.ariaLabel': t('flow.controls'),
                    'controls.zoomIn.ariaLabel': t('flow.zoomIn'),
                    'controls.zoomOut.ariaLabel': t('flow.zoomOut'),
                    'controls.fitView.ariaLabel': t('flow.fit'),
                    'minimap.ariaLabel': t('flow.map'),
                }}
            >
                <Background gap={18} size={1} color={palette.line} />
                <Controls showInteractive={false} position="bottom-left" orientation="horizontal" />
                {steps.length > stepsAtAGlance && !narrow && (
                    <MiniMap<StepNodeType>
                        pannable
                        zoomable
                        className="flow-map"
                        nodeColor={({ data }) =>
                            data.step.run ? palette.status[data.step.run.status] : palette.accent
                        }
                        nodeBorderRadius={8}
                        bgColor={palette.card}
                        maskColor={dark ? 'rgb(0 0 0 / 45%)' : 'rgb(90 100 115 / 14%)'}
                    />
                )}
            </ReactFlow>
        </div>
    );
}
